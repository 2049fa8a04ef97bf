// Many transactions of one wallet put into the tables at once, as they would be after a long life.
#pragma once

#include <map>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/support/engines.h"
#include "wallet/support/tx_builder.h"

namespace coffer::wallet::test {

struct BulkTx {
  MadeTx tx;
  TxStatus status = TxStatus::kPublished;
  std::optional<std::uint64_t> height = {};  // its block must be there, or be given below
};

// Each with its bytes, inputs and coins, every coin with its spender; then the server looks at its
// tables, as it does by itself when time has passed.
class BulkLoad {
 public:
  BulkLoad(WalletEngine& engine, WalletId wallet) : engine_(engine), wallet_(wallet) {}

  Result<> run(const std::vector<BulkTx>& txs) {
    return engine_.database().run_transaction([&](sql::Transaction& at) -> Result<> {
      TRY(read_addresses(at));
      first_ = TRY(next_id(at, "transactions"));
      TRY(add_transactions(at, txs));
      TRY(add_inputs(at, txs));
      TRY(add_coins(at, txs));
      if (at.dialect() == sql::Dialect::kSqlite) return {};
      return at.script("ANALYZE");
    });
  }

 private:
  struct Owner {
    std::uint64_t address = 0, account = 0;
  };
  Result<> read_addresses(sql::Transaction& at) {
    sql::Rows rows = TRY(at.query(
        "SELECT script_pub_key, id, account_id FROM addresses WHERE wallet_id = $1", {wallet_}));
    while (TRY(rows.next())) {
      const Bytes script = TRY(rows.get<Bytes>(0));
      const std::uint64_t id = TRY(rows.get<std::uint64_t>(1));
      const std::uint64_t account = TRY(rows.get<std::uint64_t>(2));
      owners_[script] = {id, account};
    }
    return {};
  }
  // On PostgreSQL the sequence is moved on to leave room.
  Result<std::uint64_t> next_id(sql::Transaction& at, std::string_view table) {
    const auto last =
        TRY(at.value<std::uint64_t>(fmt::format("SELECT coalesce(max(id), 0) FROM {}", table)));
    if (at.dialect() == sql::Dialect::kSqlite) return *last + 1;
    const auto moved = TRY(at.value<std::uint64_t>(
        fmt::format("SELECT setval(pg_get_serial_sequence('{0}', 'id'),"
                    " nextval(pg_get_serial_sequence('{0}', 'id')) + 1000000)",
                    table)));
    return *moved - 999'999;
  }
  Result<> add_transactions(sql::Transaction& at, const std::vector<BulkTx>& txs) {
    auto rows = TRY(at.batch(
        "INSERT INTO transactions (wallet_id, id, tx_hash, block_height, block_index, status,"
        " reason, received_time, changed_at, is_coinbase) VALUES ($1, $2, $3, $4, $5, $6, $7,"
        " coffer_now(), coffer_now(), $8)"));
    std::uint64_t id = first_;
    for (const BulkTx& one : txs) {
      std::optional<std::uint64_t> index;
      if (one.height) index = id - first_ + 1;
      std::optional<std::string_view> reason;
      if (!is_active(one.status)) reason = "bulk";
      TRY(rows.add({wallet_, id++, one.tx.id, one.height, index, to_string(one.status), reason,
                    one.tx.coinbase}));
    }
    (void)TRY(rows.finish());
    auto raw = TRY(at.batch("INSERT INTO tx_raw (wallet_id, tx_id, raw_tx) VALUES ($1, $2, $3)"));
    id = first_;
    for (const BulkTx& one : txs) TRY(raw.add({wallet_, id++, one.tx.raw}));
    (void)TRY(raw.finish());
    return {};
  }
  Result<> add_inputs(sql::Transaction& at, const std::vector<BulkTx>& txs) {
    auto rows = TRY(at.batch(
        "INSERT INTO tx_inputs (wallet_id, tx_id, input_index, prev_tx_hash, prev_output_index)"
        " VALUES ($1, $2, $3, $4, $5)"));
    std::uint64_t id = first_;
    for (const BulkTx& one : txs) {
      std::uint32_t index = 0;
      for (const chain::Outpoint& input : one.tx.inputs)
        TRY(rows.add({wallet_, id, index++, input.tx, input.index}));
      ++id;
    }
    (void)TRY(rows.finish());
    return {};
  }
  // The spender of a coin is the first active one of these transactions that names it.
  Result<> add_coins(sql::Transaction& at, const std::vector<BulkTx>& txs) {
    std::map<chain::Outpoint, std::pair<std::uint64_t, std::uint32_t>> spent;
    std::uint64_t id = first_;
    for (const BulkTx& one : txs) {
      for (std::uint32_t i = 0; i < one.tx.inputs.size() && is_active(one.status); ++i)
        spent.try_emplace(one.tx.inputs[i], id, i);
      ++id;
    }
    std::uint64_t coin_id = TRY(next_id(at, "utxos"));
    auto rows = TRY(at.batch(
        "INSERT INTO utxos (wallet_id, id, tx_id, output_index, amount, account_id, address_id,"
        " spent_by_tx_id, spent_input_index) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"));
    id = first_;
    for (const BulkTx& one : txs) {
      for (std::uint32_t i = 0; i < one.tx.outputs.size(); ++i) {
        const auto owner = owners_.find(one.tx.outputs[i].script);
        if (owner == owners_.end()) continue;
        std::optional<std::uint64_t> by, at_input;
        if (const auto found = spent.find({one.tx.id, i}); found != spent.end())
          by = found->second.first, at_input = found->second.second;
        TRY(rows.add({wallet_, coin_id++, id, i, one.tx.outputs[i].amount, owner->second.account,
                      owner->second.address, by, at_input}));
      }
      ++id;
    }
    (void)TRY(rows.finish());
    // Coins that were there before, and amounts.
    (void)TRY(at.execute(
        "UPDATE tx_inputs SET amount = (SELECT u.amount FROM transactions p CROSS JOIN utxos u"
        " WHERE p.wallet_id = tx_inputs.wallet_id AND p.tx_hash = tx_inputs.prev_tx_hash"
        " AND u.wallet_id = p.wallet_id AND u.tx_id = p.id"
        " AND u.output_index = tx_inputs.prev_output_index) WHERE wallet_id = $1 AND tx_id >= $2",
        {wallet_, first_}));
    (void)TRY(at.execute(
        "UPDATE utxos SET (spent_by_tx_id, spent_input_index) = (SELECT t.id, i.input_index"
        " FROM transactions p CROSS JOIN tx_inputs i CROSS JOIN transactions t"
        " WHERE p.wallet_id = utxos.wallet_id AND p.id = utxos.tx_id"
        " AND i.prev_tx_hash = p.tx_hash AND i.prev_output_index = utxos.output_index"
        " AND i.wallet_id = p.wallet_id AND t.wallet_id = i.wallet_id AND t.id = i.tx_id"
        " AND t.status IN ('pending', 'published')"
        " ORDER BY t.block_height IS NULL, t.status = 'pending', t.id LIMIT 1)"
        " WHERE wallet_id = $1 AND tx_id < $2 AND spent_by_tx_id IS NULL",
        {wallet_, first_}));
    return {};
  }

  WalletEngine& engine_;
  const WalletId wallet_;
  std::map<Bytes, Owner> owners_;
  std::uint64_t first_ = 0;
};

}  // namespace coffer::wallet::test
