// `coffer bench wallet`: what a wallet of a given size costs, each figure beside the bare statement
// that could answer it at best.
#include <algorithm>

#include <coffer/base/log.h>
#include <coffer/wallet/consumer.h>
#include "base/random.h"
#include "base/result.h"
#include "base/stopwatch.h"
#include "base/temp_dir.h"
#include "cli/output.h"
#include "node/bench_report.h"
#include "sql/connection.h"
#include "wallet/commands/bench_data.h"
#include "wallet/commands/commands.h"
#include "wallet/lifecycle/tx_view.h"

namespace coffer::wallet {
namespace {

constexpr int kRounds = 200;
constexpr int kWrites = 50;

struct Times {
  double median_us = 0, p99_us = 0;
};

template <typename Action>
Result<Times> timed(int rounds, Action action) {
  std::vector<double> took;
  for (int i = 0; i < rounds; ++i) {
    const Stopwatch watch;
    TRY(action(i));
    took.push_back(static_cast<double>(watch.micros()));
  }
  std::sort(took.begin(), took.end());
  return Times{took[took.size() / 2], took[took.size() * 99 / 100]};
}

std::string microseconds_text(double us) {
  return us < 1'000 ? fmt::format("{:.0f} µs", us) : fmt::format("{:.1f} ms", us / 1'000);
}

// One size on one database.
class Case {
 public:
  Case(sql::DatabaseOptions options, chain::Network network, const WalletLoad& load,
       node::BenchReport& report)
      : options_(std::move(options)), network_(std::move(network)), load_(load), report_(report) {}

  Result<> run() {
    const Stopwatch loading;
    TRY(open());
    TRY(load_wallets(*store_, load_));
    add("load", fmt::format("{:.1f} s", loading.seconds()), "put into the tables directly");
    store_.reset();
    database_.reset();
    TRY(open_again());
    TRY(balance());
    TRY(page());
    TRY(lease());
    TRY(insert());
    TRY(rollback(6));
    TRY(rollback(100));
    return size();
  }

 private:
  Result<> open() {
    database_ = TRY(sql::Database::open(options_));
    store_ = TRY(wallet::Store::open(*database_, network_));
    return {};
  }
  void add(std::string_view what, std::string result, std::string meaning) {
    report_.add(fmt::format("{} coins, {}x history, {} wallets: {}", load_.coins, load_.history,
                            load_.wallets, what),
                std::move(result), std::move(meaning));
  }
  void add(std::string_view what, const Times& ours, const Times& bare, std::string_view of) {
    add(what,
        fmt::format("{} (p99 {})", microseconds_text(ours.median_us),
                    microseconds_text(ours.p99_us)),
        fmt::format("{:.1f} times the bare {} ({})", ours.median_us / std::max(bare.median_us, 1.0),
                    of, microseconds_text(bare.median_us)));
  }
  wallet::WalletId any(int round) const {
    return wallet::WalletId(1 + static_cast<std::uint64_t>(round) % load_.wallets);
  }

  Result<> open_again() {
    constexpr int kTimes = 5;
    auto bare_timed = timed(kTimes, [&](int) -> Result<> {
      const auto database = TRY(sql::Database::open(options_));
      auto connection = TRY(database->acquire());
      (void)TRY(connection.value<std::int64_t>("SELECT tip_height FROM sync_state"));
      return {};
    });
    const Times bare = TRY(std::move(bare_timed));
    auto ours_timed = timed(kTimes, [&](int) -> Result<> {
      store_.reset();
      database_.reset();
      return open();
    });
    const Times ours = TRY(std::move(ours_timed));
    add("open", ours, bare, "open and a read, without the check of the schema");
    return follow();
  }
  // A follower reads all that it looks for before its first block or transaction.
  Result<> follow() {
    chain::Outpoint nobodys;
    nobodys.tx.fill(0xee);
    const Bytes raw = payment(nobodys, bench_script(~std::uint64_t{1}), 0);
    const bus::TxSeen seen{TRY(wallet::decode_tx(network_, raw))};
    auto ours_timed = timed(3, [&](int) -> Result<> {
      const auto feed = TRY(wallet::Consumer::open(*store_));
      return feed->on_tx_seen(seen);
    });
    const Times ours = TRY(std::move(ours_timed));
    auto bare_timed = timed(3, [&](int) -> Result<> {
      auto connection = TRY(database_->acquire());
      sql::Transaction sql = TRY(connection.begin({.access = sql::Access::kRead}));
      for (const std::string_view text :
           {"SELECT script_pub_key FROM addresses",
            "SELECT t.tx_hash FROM utxos u JOIN transactions t ON t.wallet_id = u.wallet_id"
            " AND t.id = u.tx_id WHERE u.spent_by_tx_id IS NULL"}) {
        sql::Rows rows = TRY(sql.stream(text));
        while (TRY(rows.next())) (void)TRY(rows.get<ByteView>(0));
      }
      return {};
    });
    const Times bare = TRY(std::move(bare_timed));
    add("start to follow", ours, bare, "read of all scripts and of the ids of unspent coins");
    return {};
  }
  Result<> size() {
    const wallet::StoreStats stats = TRY(store_->stats());
    auto connection = TRY(database_->acquire());
    const bool lite = database_->dialect() == sql::Dialect::kSqlite;
    const auto bare = TRY(
        connection.value<std::uint64_t>(lite ? "SELECT sum(pgsize) FROM dbstat WHERE name = 'utxos'"
                                             : "SELECT pg_relation_size('utxos')"));
    add("size", fmt::format("{:.1f} MB", static_cast<double>(stats.bytes) / 1e6),
        fmt::format("{} bytes a coin, spent ones included; {:.1f} times the bare rows of the coins",
                    stats.bytes / std::max<std::uint64_t>(1, stats.coins),
                    static_cast<double>(stats.bytes) /
                        static_cast<double>(std::max<std::uint64_t>(1, bare.value_or(0)))));
    return {};
  }

  Result<> balance() {
    auto ours_timed = timed(kRounds, [&](int i) -> Result<> {
      (void)TRY(store_->balance(any(i)));
      return {};
    });
    const Times ours = TRY(std::move(ours_timed));
    auto bare_timed = timed(kRounds, [&](int i) -> Result<> {
      auto connection = TRY(database_->acquire());
      sql::Rows rows = TRY(connection.query(
          "SELECT kind, coins, amount FROM balance_summary WHERE wallet_id = $1 AND address_id = 0",
          {any(i)}));
      while (TRY(rows.next())) (void)TRY(rows.get<std::int64_t>(2));
      return {};
    });
    const Times bare = TRY(std::move(bare_timed));
    add("balance", ours, bare, "read of the summary");
    auto naive_timed = timed(1, [&](int i) -> Result<> {
      auto connection = TRY(database_->acquire());
      (void)TRY(connection.value<std::int64_t>(
          "SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM spendable_utxos"
          " WHERE wallet_id = $1",
          {any(i)}));
      return {};
    });
    const Times naive = TRY(std::move(naive_timed));
    add("summing the coins instead", microseconds_text(naive.median_us), "what the summary saves");
    return {};
  }

  Result<> page() {
    auto ours_timed = timed(kRounds, [&](int i) -> Result<> {
      (void)TRY(store_->coins(any(i), {}));
      return {};
    });
    const Times ours = TRY(std::move(ours_timed));
    auto bare_timed = timed(kRounds, [&](int i) -> Result<> {
      auto connection = TRY(database_->acquire());
      sql::Rows rows = TRY(
          connection.query("SELECT id, tx_id, output_index, amount FROM utxos WHERE wallet_id = $1"
                           " AND spent_by_tx_id IS NULL ORDER BY id LIMIT 101",
                           {any(i)}));
      while (TRY(rows.next())) (void)TRY(rows.get<std::int64_t>(3));
      return {};
    });
    const Times bare = TRY(std::move(bare_timed));
    add("first page of 100 coins", ours, bare, "read of 101 rows");
    return {};
  }

  // The last funding transactions are unspent; those of the wallet that has the very last.
  std::uint64_t last_funding() const {
    return ((load_.history + 1) * load_.coins + kBenchCoinsPerTx - 1) / kBenchCoinsPerTx - 1;
  }
  wallet::WalletId owner() const { return wallet::WalletId(1 + last_funding() % load_.wallets); }
  chain::Outpoint unspent(std::uint64_t number) const {
    return {bench_txid(last_funding() - number / kBenchCoinsPerTx * load_.wallets),
            static_cast<std::uint32_t>(number % kBenchCoinsPerTx)};
  }
  int writes() const {
    const std::uint64_t coins = std::max(kBenchCoinsPerTx, load_.coins / load_.wallets);
    return static_cast<int>(std::min<std::uint64_t>(kWrites, coins / 2));
  }

  Result<> lease() {
    wallet::LockId lock{};
    lock.fill(7);
    auto ours_timed = timed(writes(), [&](int i) -> Result<> {
      const chain::Outpoint coin = unspent(static_cast<std::uint64_t>(i));
      (void)TRY(store_->lease(owner(), {{coin}, lock, 60'000}));
      return {};
    });
    const Times ours = TRY(std::move(ours_timed));
    (void)TRY(store_->release_all(owner(), lock));
    const auto id = TRY(coin_id());
    auto bare_timed = timed(writes(), [&](int) -> Result<> {
      return database_->run_transaction([&](sql::Transaction& sql) -> Result<> {
        (void)TRY(
            sql.execute("INSERT INTO utxo_leases (wallet_id, utxo_id, external_lock_id, expires_at)"
                        " VALUES ($3, $1, $2, 1) ON CONFLICT (wallet_id, utxo_id) DO UPDATE"
                        " SET expires_at = utxo_leases.expires_at + 1",
                        {id, lock, owner()}));
        return {};
      });
    });
    const Times bare = TRY(std::move(bare_timed));
    add("lease of one coin", ours, bare, "upsert, durable");
    return {};
  }
  Result<std::uint64_t> coin_id() {
    auto connection = TRY(database_->acquire());
    const auto id = TRY(connection.value<std::uint64_t>(
        "SELECT max(id) FROM utxos WHERE wallet_id = $1 AND spent_by_tx_id IS NULL", {owner()}));
    return id.value_or(0);
  }

  // One input, one output to this script, one to somebody else.
  static Bytes payment(const chain::Outpoint& from, const Bytes& to, std::uint32_t nonce) {
    Bytes raw;
    append_le<std::uint32_t>(raw, 2);
    raw.push_back(1);
    append(raw, from.tx.view());
    append_le<std::uint32_t>(raw, from.index);
    raw.push_back(0);
    append_le<std::uint32_t>(raw, 0xfffffffd);
    raw.push_back(2);
    for (const Bytes& script : {to, bench_script(~std::uint64_t{0})}) {
      append_le<std::uint64_t>(raw, 400);
      raw.push_back(static_cast<std::uint8_t>(script.size()));
      append(raw, script);
    }
    append_le<std::uint32_t>(raw, nonce);
    return raw;
  }
  Result<> insert() {
    const std::uint64_t address = (owner().value - 1) * kBenchAddresses;
    auto ours_timed = timed(writes(), [&](int i) -> Result<> {
      const auto nonce = static_cast<std::uint32_t>(i);
      const Bytes raw = payment(unspent(nonce), bench_script(address), nonce);
      (void)TRY(store_->record(owner(), raw, {}));
      return {};
    });
    const Times ours = TRY(std::move(ours_timed));
    std::uint64_t next = 1ull << 40;
    auto bare_timed = timed(writes(), [&](int) -> Result<> {
      ++next;
      return database_->run_transaction([&](sql::Transaction& sql) -> Result<> {
        const Hash256 hash = bench_txid(next);
        (void)TRY(sql.execute(
            "INSERT INTO transactions (wallet_id, id, tx_hash, status, reason, received_time,"
            " changed_at) VALUES ($3, $1, $2, 'failed', 'bench', 0, 0)",
            {next, hash, owner()}));
        (void)TRY(sql.execute("INSERT INTO tx_raw (wallet_id, tx_id, raw_tx) VALUES ($3, $1, $2)",
                              {next, hash, owner()}));
        (void)TRY(
            sql.execute("INSERT INTO tx_inputs (wallet_id, tx_id, input_index, prev_tx_hash,"
                        " prev_output_index) VALUES ($3, $1, 0, $2, 0)",
                        {next, hash, owner()}));
        (void)TRY(sql.execute(
            "INSERT INTO utxos (wallet_id, tx_id, output_index, amount, account_id, address_id)"
            " VALUES ($2, $1, 0, 1, $2, $3)",
            {next, owner(), address + 1}));
        return {};
      });
    });
    const Times bare = TRY(std::move(bare_timed));
    add("record of a payment", ours, bare, "four inserts, durable");
    return {};
  }

  Result<> rollback(std::uint64_t blocks) {
    const auto feed = TRY(wallet::Consumer::open(*store_));
    const std::uint64_t height = feed->position().block_count() - blocks;
    // The least that it takes: the rows alone, without triggers' care for coinbases and balances.
    auto bare_timed = timed(1, [&](int) -> Result<> {
      auto connection = TRY(database_->acquire(sql::Access::kWrite));
      sql::Transaction sql = TRY(connection.begin());
      (void)TRY(
          sql.execute("UPDATE transactions SET received_time = received_time + 1"
                      " WHERE block_height >= $1",
                      {height}));
      sql.rollback();
      return {};
    });
    const Times bare = TRY(std::move(bare_timed));
    Hash256 hash{};
    {
      auto connection = TRY(database_->acquire());
      const auto found = TRY(connection.value<Hash256>(
          "SELECT header_hash FROM blocks WHERE block_height = $1", {height - 1}));
      hash = found.value_or(Hash256{});
    }
    const auto to = bus::Position::after(Ordinal(height - 1), {Slot(height - 1), hash});
    auto ours_timed = timed(1, [&](int) { return feed->on_rollback({to}); });
    const Times ours = TRY(std::move(ours_timed));
    add(fmt::format("rollback of {} blocks", blocks), ours, bare, "update of the rows");
    return {};
  }

  const sql::DatabaseOptions options_;
  const chain::Network network_;
  const WalletLoad load_;
  node::BenchReport& report_;
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<wallet::Store> store_;
};

// For the next case, and as it was found.
Result<> empty(const sql::DatabaseOptions& options) {
  auto database = TRY(sql::Database::open(options));
  return database->run_transaction([](sql::Transaction& sql) {
    return sql.script(
        "TRUNCATE wallets, blocks CASCADE; UPDATE sync_state SET position = '', tip_height = -1");
  });
}

Result<> run_case(const BenchWalletArguments& arguments, const WalletLoad& load,
                  node::BenchReport& report) {
  const chain::Network network = TRY(chain::find_network("bitcoin", "regtest"));
  const TempDir scratch;
  sql::DatabaseOptions options;
  options.location = arguments.database.empty()
                         ? "sqlite:" + (scratch.path() / "wallet.db").string()
                         : arguments.database;
  options.statement_timeout_ms = 3'600'000;
  if (!arguments.database.empty()) {
    auto database = TRY(sql::Database::open(options));
    auto connection = TRY(database->acquire());
    const auto wallets = connection.value<std::int64_t>("SELECT count(*) FROM wallets");
    if (wallets && wallets->value_or(0) > 0)
      return fail(Code::kConflict, "{} has wallets; name an empty database", database->name());
  }
  TRY(Case(options, network, load, report).run());
  return arguments.database.empty() ? Result<>() : empty(options);
}

}  // namespace

Result<> run_bench_wallet(const Context& context, const BenchWalletArguments& arguments) {
  node::BenchReport report;
  std::vector<WalletLoad> loads;
  if (arguments.coins) {
    loads.push_back({*arguments.coins, arguments.history, arguments.wallets});
  } else {
    for (const std::uint64_t coins : {1'000u, 100'000u, 1'000'000u})
      for (const std::uint64_t history : {1u, 10u})
        for (const std::uint64_t wallets : {1u, 1'000u}) loads.push_back({coins, history, wallets});
  }
  for (const WalletLoad& load : loads) {
    log::info("measuring", {{"coins", load.coins},
                            {"history", load.history},
                            {"wallets", load.wallets},
                            {"of_cases", loads.size()}});
    TRY(run_case(arguments, load, report));
  }
  cli::print(context.json ? report.json() + "\n" : report.table());
  return cli::finish_output();
}

}  // namespace coffer::wallet
