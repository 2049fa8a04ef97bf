// A wallet database on an engine, with its store and its consumer, for tests that run the same on
// each.
#pragma once

#include <gtest/gtest.h>

#include <coffer/wallet/consumer.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/test_postgres.h"

namespace coffer::wallet::test {

// A database with the wallet's tables where the run's server has one to copy, else an empty one.
inline std::string fresh_wallet_database(sql::test::PostgresServer& server) {
  return server.fresh_database(sql::test::fixture_text("wallet_template"));
}

class WalletEngine {
 public:
  WalletEngine(std::string name, sql::DatabaseOptions options, StoreOptions store_options)
      : name_(std::move(name)),
        options_(std::move(options)),
        store_options_(std::move(store_options)) {
    open();
  }

  static std::unique_ptr<WalletEngine> sqlite(const std::filesystem::path& dir, const Clock* clock,
                                              const StoreOptions& store_options = {}) {
    sql::DatabaseOptions options;
    options.location = "sqlite:" + (dir / "wallet.db").string();
    options.clock = clock;
    options.seed = 1;
    return std::make_unique<WalletEngine>("sqlite", options, store_options);
  }
  // Nothing if PostgreSQL is not installed.
  static std::unique_ptr<WalletEngine> postgres(const Clock* clock,
                                                const StoreOptions& store_options = {}) {
    auto* server = sql::test::PostgresServer::shared();
    if (server == nullptr) return nullptr;
    sql::DatabaseOptions options;
    options.location = server->location(fresh_wallet_database(*server));
    options.clock = clock;
    options.seed = 1;
    return std::make_unique<WalletEngine>("postgres", options, store_options);
  }

  // The same through PgBouncer in transaction mode. Nothing if it is not installed.
  static std::unique_ptr<WalletEngine> pgbouncer(const Clock* clock,
                                                 const StoreOptions& store_options = {}) {
    auto* bouncer = sql::test::PgBouncer::shared();
    if (bouncer == nullptr) return nullptr;
    sql::DatabaseOptions options;
    options.location =
        bouncer->location(fresh_wallet_database(*sql::test::PostgresServer::shared()));
    options.clock = clock;
    options.seed = 1;
    return std::make_unique<WalletEngine>("pgbouncer", options, store_options);
  }

  // As after a crash: what was not committed is gone.
  void open() {
    consumer_.reset();
    store_.reset();
    database_.reset();
    auto database = sql::Database::open(options_);
    check_ok(database);
    database_ = std::move(*database);
    auto store = Store::open(*database_, network_, store_options_);
    check_ok(store);
    store_ = std::move(*store);
    open_consumer();
  }
  void open_consumer() {
    auto opened = Consumer::open(*store_);
    check_ok(opened);
    consumer_ = std::move(*opened);
  }
  // Back to a new database, but faster.
  void empty() {
    consumer_.reset();
    const bool lite = database_->dialect() == sql::Dialect::kSqlite;
    const std::vector<std::string> tables = {
        "labels",      "balance_summary", "pruned_summary", "pruned_transactions",
        "utxo_leases", "tx_replacements", "utxos",          "tx_inputs",
        "tx_raw",      "transactions",    "addresses",      "descriptors",
        "accounts",    "blocks",          "wallets"};
    const auto done = database_->run_transaction([&](sql::Transaction& sql) -> Result<> {
      for (const std::string& table : tables) TRY(sql.script("DELETE FROM " + table));
      // A test's clock may begin anew.
      if (lite) TRY(sql.script("DELETE FROM coffer_clock"));
      return sql.script(lite ? "UPDATE sync_state SET position = x'', tip_height = -1"
                             : "UPDATE sync_state SET position = '\\x', tip_height = -1");
    });
    check_ok(done);
    open_consumer();
  }

  const std::string& name() const { return name_; }
  const chain::Network& network() const { return network_; }
  Store& store() { return *store_; }
  Consumer& consumer() { return *consumer_; }
  sql::Database& database() { return *database_; }
  const sql::DatabaseOptions& options() const { return options_; }

 private:
  template <typename T>
  static void check_ok(const Result<T>& result) {
    if (!result) ADD_FAILURE() << result.error().message;
    CHECK(result.has_value());
  }

  const std::string name_;
  const sql::DatabaseOptions options_;
  const StoreOptions store_options_;
  const chain::Network network_ = chain::find_network("bitcoin", "regtest").value();
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Consumer> consumer_;
};

}  // namespace coffer::wallet::test
