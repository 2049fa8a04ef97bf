// Every invariant, recomputed from the tables by statements that return what is wrong.
#include "base/result.h"
#include "bus/position_codec.h"
#include "sql/connection.h"
#include "wallet/descriptor/descriptor.h"
#include "wallet/import/addresses_impl.h"
#include "wallet/lifecycle/tx_view.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

// A rule, and the rows that break it: a wallet and a number to find the place by.
struct Rule {
  std::string_view what;
  std::string_view breaks;
};

constexpr Rule kRules[] = {
    {"a confirmed transaction has its block",
     "SELECT t.wallet_id, t.id FROM transactions t LEFT JOIN blocks b"
     " ON b.block_height = t.block_height WHERE t.block_height IS NOT NULL"
     " AND b.block_height IS NULL"},
    {"no block is above the tip",
     "SELECT 0, b.block_height FROM blocks b, sync_state y WHERE y.tip_height >= 0"
     " AND b.block_height > y.tip_height"},
    {"at most one published transaction names an outpoint",
     "SELECT i.wallet_id, min(i.tx_id) FROM tx_inputs i JOIN transactions t"
     " ON t.wallet_id = i.wallet_id AND t.id = i.tx_id WHERE t.status = 'published'"
     " GROUP BY i.wallet_id, i.prev_tx_hash, i.prev_output_index HAVING count(*) > 1"},
    {"a coin is spent by the best of those that name it",
     "SELECT u.wallet_id, u.id FROM utxos u JOIN transactions p ON p.wallet_id = u.wallet_id"
     " AND p.id = u.tx_id LEFT JOIN transactions s ON s.wallet_id = u.wallet_id"
     " AND s.id = u.spent_by_tx_id WHERE (s.id IS NULL OR NOT s.is_stub)"
     " AND coalesce(u.spent_by_tx_id, 0) <> coalesce((SELECT t.id FROM tx_inputs i"
     "  JOIN transactions t ON t.wallet_id = i.wallet_id AND t.id = i.tx_id"
     "  WHERE i.prev_tx_hash = p.tx_hash AND i.prev_output_index = u.output_index"
     "  AND i.wallet_id = u.wallet_id AND t.status IN ('pending', 'published')"
     "  ORDER BY t.status = 'pending', t.id LIMIT 1), 0)"},
    {"a coin's spender names it at the place that is recorded",
     "SELECT u.wallet_id, u.id FROM utxos u JOIN transactions p ON p.wallet_id = u.wallet_id"
     " AND p.id = u.tx_id JOIN transactions s ON s.wallet_id = u.wallet_id"
     " AND s.id = u.spent_by_tx_id LEFT JOIN tx_inputs i ON i.wallet_id = u.wallet_id"
     " AND i.tx_id = u.spent_by_tx_id AND i.input_index = u.spent_input_index"
     " WHERE NOT s.is_stub AND (i.tx_id IS NULL OR i.prev_tx_hash <> p.tx_hash"
     " OR i.prev_output_index <> u.output_index)"},
    {"an input has the amount of its coin",
     "SELECT i.wallet_id, i.tx_id FROM utxos u JOIN transactions p ON p.wallet_id = u.wallet_id"
     " AND p.id = u.tx_id JOIN tx_inputs i ON i.prev_tx_hash = p.tx_hash"
     " AND i.prev_output_index = u.output_index AND i.wallet_id = u.wallet_id"
     " WHERE coalesce(i.amount, -1) <> u.amount"},
    {"an input that has an amount has its coin, unless that is pruned",
     "SELECT i.wallet_id, i.tx_id FROM tx_inputs i JOIN transactions p ON p.wallet_id = i.wallet_id"
     " AND p.tx_hash = i.prev_tx_hash WHERE i.amount IS NOT NULL AND NOT p.is_stub AND NOT EXISTS ("
     "  SELECT 1 FROM utxos u WHERE u.wallet_id = p.wallet_id AND u.tx_id = p.id"
     "  AND u.output_index = i.prev_output_index)"},
    {"no published transaction spends from a pending one",
     "SELECT c.wallet_id, c.id FROM transactions c JOIN tx_inputs i ON i.wallet_id = c.wallet_id"
     " AND i.tx_id = c.id JOIN transactions p ON p.wallet_id = i.wallet_id"
     " AND p.tx_hash = i.prev_tx_hash WHERE c.status = 'published' AND p.status = 'pending'"},
    {"no unconfirmed transaction spends from an invalid one, nor one whose block a person named",
     "SELECT c.wallet_id, c.id FROM transactions c JOIN tx_inputs i ON i.wallet_id = c.wallet_id"
     " AND i.tx_id = c.id JOIN transactions p ON p.wallet_id = i.wallet_id"
     " AND p.tx_hash = i.prev_tx_hash WHERE (c.block_height IS NULL OR c.user_confirmed)"
     " AND c.status IN ('pending', 'published') AND p.status NOT IN ('pending', 'published')"},
    {"a transaction that is whole has its bytes and its inputs, a stub has none",
     "SELECT t.wallet_id, t.id FROM transactions t LEFT JOIN tx_raw r ON r.wallet_id = t.wallet_id"
     " AND r.tx_id = t.id WHERE t.is_stub <> (r.tx_id IS NULL) OR (t.is_stub AND EXISTS ("
     "  SELECT 1 FROM tx_inputs i WHERE i.wallet_id = t.wallet_id AND i.tx_id = t.id))"},
    {"a stub is named by a coin, or has one",
     "SELECT t.wallet_id, t.id FROM transactions t WHERE t.is_stub AND NOT EXISTS ("
     "  SELECT 1 FROM utxos u WHERE u.wallet_id = t.wallet_id AND u.spent_by_tx_id = t.id)"
     " AND NOT EXISTS (SELECT 1 FROM utxos u WHERE u.wallet_id = t.wallet_id AND u.tx_id = t.id)"},
    {"a stub, and nothing else, is listed as pruned",
     "SELECT t.wallet_id, t.id FROM transactions t LEFT JOIN pruned_transactions g"
     " ON g.wallet_id = t.wallet_id AND g.tx_hash = t.tx_hash"
     " WHERE t.is_stub <> (g.tx_hash IS NOT NULL)"},
    {"a coin that was pruned is not there again",
     "SELECT u.wallet_id, u.id FROM pruned_transactions g JOIN transactions t"
     " ON t.wallet_id = g.wallet_id AND t.tx_hash = g.tx_hash JOIN utxos u"
     " ON u.wallet_id = t.wallet_id AND u.tx_id = t.id"
     " WHERE g.outputs LIKE '%,' || CAST(u.output_index AS TEXT) || ',%'"},
    {"the summary of what is pruned counts its list",
     "SELECT s.wallet_id, s.transactions FROM pruned_summary s WHERE s.transactions <> ("
     "  SELECT count(*) FROM pruned_transactions g WHERE g.wallet_id = s.wallet_id)"},
    {"the summary of what is pruned has the heights and the coins of its list",
     "SELECT s.wallet_id, s.coins FROM pruned_summary s JOIN (SELECT g.wallet_id,"
     "  min(g.height) AS low, max(g.height) AS high,"
     "  sum(length(g.outputs) - length(replace(g.outputs, ',', '')) - 1) AS n"
     "  FROM pruned_transactions g GROUP BY g.wallet_id) l ON l.wallet_id = s.wallet_id"
     " WHERE s.coins <> l.n OR s.lowest_height > l.low OR s.highest_height < l.high"
     " OR s.fixed_height < l.high OR s.received < 0 OR s.spent < 0"},
    // An import that was cut short may have come less far; then nothing is given out of it yet.
    {"the gap after what is in use is watched",
     "SELECT d.wallet_id, d.id FROM descriptors d JOIN wallets w ON w.id = d.wallet_id"
     " WHERE d.is_ranged AND d.next_index > 0 AND d.derived_to < 2147483647"
     " AND d.derived_to < d.next_index + w.gap_limit"},
    {"a coin has the account of its address",
     "SELECT u.wallet_id, u.id FROM utxos u LEFT JOIN addresses a ON a.wallet_id = u.wallet_id"
     " AND a.id = u.address_id WHERE a.id IS NULL OR a.account_id <> u.account_id"},
    {"a coin stands in the chain where its transaction does",
     "SELECT u.wallet_id, u.id FROM utxos u JOIN transactions t ON t.wallet_id = u.wallet_id"
     " AND t.id = u.tx_id WHERE u.chain_position <> t.chain_position"},
    {"every coin that counts is in the summary of its address",
     "SELECT k.wallet_id, k.address_id FROM (SELECT wallet_id, account_id, address_id, kind,"
     "  count(*) AS n, sum(amount) AS total FROM coin_kinds GROUP BY wallet_id, account_id,"
     "  address_id, kind) k LEFT JOIN balance_summary b ON b.wallet_id = k.wallet_id"
     " AND b.address_id = k.address_id AND b.account_id = k.account_id AND b.kind = k.kind"
     " WHERE coalesce(b.coins, 0) <> k.n OR coalesce(b.amount, 0) <> k.total"},
    {"the summary of an address has nothing else",
     "SELECT b.wallet_id, b.address_id FROM balance_summary b WHERE b.coins <> 0"
     " AND b.address_id <> 0 AND NOT EXISTS (SELECT 1 FROM coin_kinds k"
     "  WHERE k.wallet_id = b.wallet_id AND k.address_id = b.address_id AND k.kind = b.kind"
     "  AND k.account_id = b.account_id)"},
    {"an account's summary is the sum of its addresses",
     "SELECT a.wallet_id, a.account_id FROM balance_summary a WHERE a.address_id = 0"
     " AND (a.coins <> (SELECT coalesce(sum(b.coins), 0) FROM balance_summary b"
     "   WHERE b.wallet_id = a.wallet_id AND b.account_id = a.account_id AND b.kind = a.kind"
     "   AND b.address_id <> 0)"
     "  OR a.amount <> (SELECT coalesce(sum(b.amount), 0) FROM balance_summary b"
     "   WHERE b.wallet_id = a.wallet_id AND b.account_id = a.account_id AND b.kind = a.kind"
     "   AND b.address_id <> 0))"},
    {"every address with a balance has an account with one",
     "SELECT b.wallet_id, b.address_id FROM balance_summary b WHERE b.address_id <> 0"
     " AND NOT EXISTS (SELECT 1 FROM balance_summary a WHERE a.wallet_id = b.wallet_id"
     "  AND a.account_id = b.account_id AND a.kind = b.kind AND a.address_id = 0)"},
    {"an invalid transaction says why, a valid one does not",
     "SELECT wallet_id, id FROM transactions WHERE (status IN ('pending', 'published'))"
     " <> (reason IS NULL)"},
};

// What SQL cannot recompute: ids, inputs and amounts from the raw bytes, hashes of scripts.
class Recomputed {
 public:
  Recomputed(sql::Transaction& sql, const chain::Network& network, WalletVerified& counts)
      : sql_(sql), network_(network), counts_(counts) {}

  Result<> scripts() {
    sql::Rows rows =
        TRY(sql_.stream("SELECT wallet_id, id, script_pub_key, script_hash FROM addresses"));
    while (TRY(rows.next())) {
      ++counts_.addresses;
      const ByteView script = TRY(rows.get<ByteView>(2));
      const Hash256 hash = TRY(rows.get<Hash256>(3));
      if (script_hash(script) == hash) continue;
      const std::int64_t wallet = TRY(rows.get<std::int64_t>(0));
      const std::int64_t id = TRY(rows.get<std::int64_t>(1));
      return fail(Code::kCorrupt, "wallet {}: address {} has another script than its hash says",
                  wallet, id);
    }
    return {};
  }

  // What is watched is what the descriptors say, one wallet after the other.
  Result<> derived() {
    for (Described last;;) {
      const std::vector<Described> batch = TRY(next_descriptors(last));
      if (batch.empty()) return all_derived();
      for (const Described& one : batch) {
        if (watched_of_ != one.wallet) {
          TRY(all_derived());
          TRY(read_watched(one.wallet));
        }
        TRY(check(one));
      }
      last = batch.back();
    }
  }

  Result<> position() {
    const auto row =
        TRY(sql_.one<Bytes, std::int64_t>("SELECT position, tip_height FROM sync_state"));
    if (!row) return fail(Code::kCorrupt, "the wallets' position is missing");
    const bus::Position position = TRY(bus::decode_position(std::get<0>(*row)));
    if (static_cast<std::int64_t>(position.block_count()) - 1 == std::get<1>(*row)) return {};
    return fail(Code::kCorrupt, "the wallets stand after {} blocks, and their tip is {}",
                position.block_count(), std::get<1>(*row));
  }

  Result<> transactions() {
    for (std::int64_t after = 0;;) {
      std::vector<Stored> batch = TRY(next_batch(after));
      if (batch.empty()) return {};
      for (const Stored& tx : batch) TRY(check(tx));
      after = batch.back().id;
    }
  }

 private:
  struct Described {
    std::int64_t wallet = 0, id = 0;
    std::string text;
    std::uint32_t derived_to = 0;
  };
  struct Watched {
    Hash256 hash{};
    std::int64_t descriptor = 0, index = 0;  // of the one that it belongs to
    bool is_derived = false;
  };
  Result<std::vector<Described>> next_descriptors(const Described& last) {
    sql::Rows rows =
        TRY(sql_.query("SELECT wallet_id, id, descriptor, derived_to FROM descriptors"
                       " WHERE (wallet_id, id) > ($1, $2) ORDER BY wallet_id, id LIMIT 500",
                       {last.wallet, last.id}));
    std::vector<Described> batch;
    while (TRY(rows.next())) {
      Described one;
      one.wallet = TRY(rows.get<std::int64_t>(0));
      one.id = TRY(rows.get<std::int64_t>(1));
      one.text = TRY(rows.get<std::string>(2));
      one.derived_to = TRY(rows.get<std::uint32_t>(3));
      batch.push_back(std::move(one));
    }
    return batch;
  }
  Result<> read_watched(std::int64_t wallet) {
    sql::Rows rows =
        TRY(sql_.stream("SELECT script_hash, coalesce(descriptor_id, 0), coalesce(address_index, 0)"
                        " FROM addresses WHERE wallet_id = $1",
                        {wallet}));
    watched_.clear();
    while (TRY(rows.next())) {
      Watched one;
      one.hash = TRY(rows.get<Hash256>(0));
      one.descriptor = TRY(rows.get<std::int64_t>(1));
      one.index = TRY(rows.get<std::int64_t>(2));
      watched_.push_back(one);
    }
    std::ranges::sort(watched_, {}, &Watched::hash);
    watched_of_ = wallet;
    return {};
  }
  Result<> check(const Described& one) {
    const auto descriptor = parse_descriptor(network_, one.text);
    if (!descriptor)
      return fail(Code::kCorrupt, "wallet {}: descriptor {} cannot be read: {}", one.wallet, one.id,
                  descriptor.error().message);
    for (std::uint32_t index = 0; index < one.derived_to; ++index) {
      const auto scripts = descriptor->derive(index);
      if (!scripts)
        return fail(Code::kCorrupt, "wallet {}: descriptor {} has nothing at index {}: {}",
                    one.wallet, one.id, index, scripts.error().message);
      for (const Bytes& script : *scripts) {
        const Hash256 hash = script_hash(script);
        const auto found = std::ranges::lower_bound(watched_, hash, {}, &Watched::hash);
        const bool is_there = found != watched_.end() && found->hash == hash;
        if (!is_there || (found->descriptor == one.id && found->index != index))
          return fail(Code::kCorrupt, "wallet {}: descriptor {} is not watched at index {}",
                      one.wallet, one.id, index);
        if (found->descriptor == one.id) found->is_derived = true;
      }
    }
    return {};
  }
  // Of the wallet whose descriptors have all been looked at.
  Result<> all_derived() const {
    for (const Watched& one : watched_)
      if (one.descriptor != 0 && !one.is_derived)
        return fail(Code::kCorrupt, "wallet {}: an address at index {} is not of descriptor {}",
                    watched_of_, one.index, one.descriptor);
    return {};
  }

  struct Stored {
    std::int64_t wallet = 0, id = 0;
    Hash256 hash{};
    Bytes raw;
  };
  Result<std::vector<Stored>> next_batch(std::int64_t after) {
    sql::Rows rows = TRY(sql_.query(
        "SELECT t.wallet_id, t.id, t.tx_hash, r.raw_tx FROM transactions t JOIN tx_raw r"
        " ON r.wallet_id = t.wallet_id AND r.tx_id = t.id WHERE t.id > $1 ORDER BY t.id LIMIT 500",
        {after}));
    std::vector<Stored> batch;
    while (TRY(rows.next())) {
      Stored tx;
      tx.wallet = TRY(rows.get<std::int64_t>(0));
      tx.id = TRY(rows.get<std::int64_t>(1));
      tx.hash = TRY(rows.get<Hash256>(2));
      tx.raw = TRY(rows.get<Bytes>(3));
      batch.push_back(std::move(tx));
    }
    return batch;
  }
  std::unexpected<Error> wrong(const Stored& tx, std::string_view what) const {
    return fail(Code::kCorrupt, "wallet {}: transaction {} {}", tx.wallet, to_display(tx.hash),
                what);
  }
  Result<> check(const Stored& tx) {
    ++counts_.transactions;
    auto decoded = decode_tx(network_, tx.raw);
    if (!decoded) return wrong(tx, "cannot be read: " + decoded.error().message);
    const TxView view{**decoded, (*decoded)->txs.front()};
    if (view.tx.id != tx.hash) return wrong(tx, "has the bytes of another");
    {
      sql::Rows inputs = TRY(
          sql_.query("SELECT prev_tx_hash, prev_output_index FROM tx_inputs WHERE wallet_id = $1"
                     " AND tx_id = $2 ORDER BY input_index",
                     {tx.wallet, tx.id}));
      std::size_t at = 0;
      while (TRY(inputs.next())) {
        ++counts_.inputs;
        chain::Outpoint named;
        named.tx = TRY(inputs.get<Hash256>(0));
        named.index = TRY(inputs.get<std::uint32_t>(1));
        if (at >= view.inputs().size() || view.inputs()[at++].outpoint() != named)
          return wrong(tx, "has other inputs than its bytes say");
      }
      if (at != view.inputs().size()) return wrong(tx, "lacks an input");
    }
    sql::Rows coins = TRY(
        sql_.query("SELECT u.output_index, u.amount, a.script_pub_key FROM utxos u JOIN addresses a"
                   " ON a.wallet_id = u.wallet_id AND a.id = u.address_id WHERE u.wallet_id = $1"
                   " AND u.tx_id = $2",
                   {tx.wallet, tx.id}));
    while (TRY(coins.next())) {
      ++counts_.coins;
      const std::uint32_t index = TRY(coins.get<std::uint32_t>(0));
      const std::uint64_t amount = TRY(coins.get<std::uint64_t>(1));
      const ByteView script = TRY(coins.get<ByteView>(2));
      if (index >= view.outputs().size() || view.outputs()[index].amount.value != amount ||
          !equal(view.outputs()[index].address, script))
        return wrong(tx, fmt::format("has another output {} than its coin says", index));
    }
    return {};
  }

  sql::Transaction& sql_;
  const chain::Network& network_;
  WalletVerified& counts_;
  std::int64_t watched_of_ = 0;
  std::vector<Watched> watched_;  // by hash
};

}  // namespace

Result<WalletVerified> Store::verify(const std::function<void(std::string_view)>& progress) const {
  auto connection = TRY(database_.acquire());
  sql::Transaction sql = TRY(connection.begin(kRead));
  WalletVerified counts;
  counts.wallets = TRY(sql.value<std::uint64_t>("SELECT count(*) FROM wallets")).value_or(0);
  for (const Rule& rule : kRules) {
    if (progress) progress(rule.what);
    sql::Rows rows = TRY(sql.query(std::string(rule.breaks) + " LIMIT 1"));
    if (!TRY(rows.next())) continue;
    const std::int64_t wallet = TRY(rows.get<std::int64_t>(0));
    const std::int64_t id = TRY(rows.get<std::int64_t>(1));
    return fail(Code::kCorrupt, "wallet {}, row {} breaks the rule: {}", wallet, id, rule.what);
  }
  Recomputed recomputed(sql, network_, counts);
  if (progress) progress("the scripts of addresses");
  TRY(recomputed.scripts());
  if (progress) progress("what the descriptors say");
  TRY(recomputed.derived());
  if (progress) progress("where the wallets stand");
  TRY(recomputed.position());
  if (progress) progress("the bytes of transactions");
  TRY(recomputed.transactions());
  return counts;
}

}  // namespace coffer::wallet
