#include "wallet/commands/bench_data.h"

#include "base/result.h"
#include "bus/position_codec.h"
#include "crypto/sha256.h"
#include "sql/connection.h"

namespace coffer::wallet {
namespace {

Hash256 numbered(std::uint8_t kind, std::uint64_t number) {
  Bytes text = {kind};
  append_be64(text, number);
  return crypto::sha256(text);
}

// Rows of one table at a time, in one transaction for each.
class Loader {
 public:
  Loader(wallet::Store& store, const WalletLoad& load)
      : store_(store),
        load_(load),
        funding_(((load.history + 1) * load.coins + kBenchCoinsPerTx - 1) / kBenchCoinsPerTx),
        spending_(load.history * load.coins / kBenchCoinsPerTx) {}

  Result<> run() {
    TRY(wallets());
    TRY(blocks());
    TRY(transactions());
    TRY(inputs());
    const std::string counting = TRY(stop_counting());
    TRY(coins());
    return count_at_once(counting);
  }

 private:
  template <std::size_t N, typename Add>
  Result<> rows(std::string_view table, const std::array<std::string_view, N>& columns, Add add) {
    return store_.database().run_transaction([&](sql::Transaction& sql) -> Result<> {
      sql::Batch batch = TRY(sql.insert_into(table, columns));
      TRY(add(batch));
      (void)TRY(batch.finish());
      return {};
    });
  }

  // Funding transactions come first, oldest first: those whose coins are spent, then the others.
  std::uint64_t wallet_of(std::uint64_t funding) const { return 1 + funding % load_.wallets; }
  std::uint64_t height_of(std::uint64_t tx, std::uint64_t all) const {
    return tx * kBenchBlocks / std::max<std::uint64_t>(all, 1);
  }

  Result<> wallets() {
    Result<> made = rows(
        "wallets",
        std::array<std::string_view, 5>{"id", "name", "birthday_height", "gap_limit", "created_at"},
        [&](sql::Batch& batch) -> Result<> {
          for (std::uint64_t w = 1; w <= load_.wallets; ++w) {
            const std::string name = fmt::format("w{}", w);
            TRY(batch.add({w, name, 0, 20, 0}));
          }
          return {};
        });
    if (!made) return made;
    Result<> accounts = rows("accounts", std::array<std::string_view, 3>{"wallet_id", "id", "name"},
                             [&](sql::Batch& batch) -> Result<> {
                               for (std::uint64_t w = 1; w <= load_.wallets; ++w)
                                 TRY(batch.add({w, w, "default"}));
                               return {};
                             });
    if (!accounts) return accounts;
    return rows("addresses",
                std::array<std::string_view, 6>{"wallet_id", "id", "account_id", "script_type",
                                                "script_pub_key", "script_hash"},
                [&](sql::Batch& batch) -> Result<> {
                  for (std::uint64_t a = 0; a < load_.wallets * kBenchAddresses; ++a) {
                    const std::uint64_t w = 1 + a / kBenchAddresses;
                    const Bytes script = bench_script(a);
                    TRY(batch.add({w, a + 1, w, "p2wpkh", script, crypto::sha256(script)}));
                  }
                  return {};
                });
  }

  Result<> blocks() {
    Result<> heights = rows(
        "blocks", std::array<std::string_view, 3>{"block_height", "header_hash", "block_timestamp"},
        [&](sql::Batch& batch) -> Result<> {
          for (std::uint64_t h = 0; h < kBenchBlocks; ++h)
            TRY(batch.add({h, numbered(3, h), 1'600'000'000 + 600 * h}));
          return {};
        });
    if (!heights) return heights;
    return store_.database().run_transaction([&](sql::Transaction& sql) -> Result<> {
      const auto top = bus::Position::after(
          Ordinal(kBenchBlocks - 1), {Slot(kBenchBlocks - 1), numbered(3, kBenchBlocks - 1)});
      (void)TRY(sql.execute("UPDATE sync_state SET position = $1, tip_height = $2",
                            {bus::encode_position(top), kBenchBlocks - 1}));
      return {};
    });
  }

  Result<> transactions() {
    constexpr std::array<std::string_view, 8> kColumns = {"wallet_id",     "id",          "tx_hash",
                                                          "block_height",  "block_index", "status",
                                                          "received_time", "changed_at"};
    Result<> listed = rows("transactions", kColumns, [&](sql::Batch& batch) -> Result<> {
      for (std::uint64_t i = 0; i < funding_; ++i)
        TRY(batch.add(
            {wallet_of(i), i + 1, bench_txid(i), height_of(i, funding_), i, "published", 0, 0}));
      for (std::uint64_t i = 0; i < spending_; ++i)
        TRY(batch.add({wallet_of(i), funding_ + i + 1, numbered(2, i), height_of(i, funding_),
                       funding_ + i, "published", 0, 0}));
      return {};
    });
    if (!listed) return listed;
    const Bytes raw(150, 0x5a);
    return rows("tx_raw", std::array<std::string_view, 3>{"wallet_id", "tx_id", "raw_tx"},
                [&](sql::Batch& batch) -> Result<> {
                  for (std::uint64_t i = 0; i < funding_; ++i)
                    TRY(batch.add({wallet_of(i), i + 1, raw}));
                  for (std::uint64_t i = 0; i < spending_; ++i)
                    TRY(batch.add({wallet_of(i), funding_ + i + 1, raw}));
                  return {};
                });
  }

  Result<> inputs() {
    return rows(
        "tx_inputs",
        std::array<std::string_view, 6>{"wallet_id", "tx_id", "input_index", "prev_tx_hash",
                                        "prev_output_index", "amount"},
        [&](sql::Batch& batch) -> Result<> {
          for (std::uint64_t i = 0; i < spending_; ++i)
            for (std::uint64_t c = 0; c < kBenchCoinsPerTx; ++c)
              TRY(batch.add({wallet_of(i), funding_ + i + 1, c, bench_txid(i), c, 1'000 + c}));
          return {};
        });
  }

  Result<> coins() {
    return rows("utxos",
                std::array<std::string_view, 8>{"wallet_id", "tx_id", "output_index", "amount",
                                                "account_id", "address_id", "spent_by_tx_id",
                                                "spent_input_index"},
                [&](sql::Batch& batch) -> Result<> {
                  for (std::uint64_t i = 0; i < funding_; ++i)
                    for (std::uint64_t c = 0; c < kBenchCoinsPerTx; ++c) {
                      const std::uint64_t w = wallet_of(i);
                      const std::uint64_t address =
                          1 + (w - 1) * kBenchAddresses + (i / load_.wallets) % kBenchAddresses;
                      std::optional<std::uint64_t> by, at;
                      if (i < spending_) by = funding_ + i + 1, at = c;
                      TRY(batch.add({w, i + 1, c, 1'000 + c, w, address, by, at}));
                    }
                  return {};
                });
  }

  // Millions of coins are counted together at the end, not each by the trigger. Returns what makes
  // the trigger again.
  Result<std::string> stop_counting() {
    return store_.database().run_transaction([](sql::Transaction& sql) -> Result<std::string> {
      if (sql.dialect() == sql::Dialect::kPostgres) {
        TRY(sql.script("ALTER TABLE utxos DISABLE TRIGGER trg_coin_made"));
        return std::string("ALTER TABLE utxos ENABLE TRIGGER trg_coin_made");
      }
      const auto text = TRY(sql.value<std::string>(
          "SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND name = 'trg_coin_made'"));
      TRY(sql.script("DROP TRIGGER trg_coin_made"));
      return text.value_or("");
    });
  }
  Result<> count_at_once(const std::string& trigger) {
    return store_.database().run_transaction([&](sql::Transaction& sql) -> Result<> {
      for (const std::string_view address : {"0", "address_id"})
        TRY(sql.script(fmt::format(
            "INSERT INTO balance_summary (wallet_id, account_id, address_id, kind, coins, amount)"
            " SELECT wallet_id, account_id, {0}, kind, count(*), sum(amount) FROM coin_kinds"
            " GROUP BY wallet_id, account_id, kind{1}",
            address, address == "0" ? "" : ", address_id")));
      return sql.script(trigger);
    });
  }

  wallet::Store& store_;
  const WalletLoad load_;
  const std::uint64_t funding_, spending_;  // transactions
};

}  // namespace

Bytes bench_script(std::uint64_t number) {
  Bytes script = {0x00, 0x14};
  append_be64(script, number);
  script.resize(22, 0x5a);
  return script;
}

Hash256 bench_txid(std::uint64_t number) {
  return numbered(1, number);
}

Result<> load_wallets(wallet::Store& store, const WalletLoad& load) {
  TRY(Loader(store, load).run());
  return store.database().run_transaction([&](sql::Transaction& sql) -> Result<> {
    // Rows that came with their ids have not moved what gives out new ones.
    if (sql.dialect() == sql::Dialect::kPostgres)
      for (const std::string_view table : {"wallets", "accounts", "addresses", "transactions"})
        (void)TRY(
            sql.query(fmt::format("SELECT setval(pg_get_serial_sequence('{0}', 'id'),"
                                  " (SELECT max(id) FROM {0}))",
                                  table)));
    // What a database that has lived for a while knows of its tables.
    return sql.script("ANALYZE");
  });
}

}  // namespace coffer::wallet
