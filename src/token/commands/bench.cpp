#include "token/commands/bench.h"

#include <coffer/base/log.h>
#include "base/file.h"
#include "base/stopwatch.h"
#include "base/temp_dir.h"
#include "cli/output.h"
#include "node/bench_report.h"
#include "sql/connection.h"
#include "token/commands/bench_ledgers.h"
#include "token/commands/bench_rows.h"
#include "token/commands/bench_served.h"

namespace coffer::token {
namespace {

using node::Context;

constexpr std::size_t kInFlight = 64, kFewInFlight = 16;
const Actor kBenchActor{"user:bench"};

struct BenchTokenArguments {
  std::string database;
  std::uint64_t seconds = 5, wallets = 10'000;
};

std::string per_second(double rate) {
  return fmt::format("{:.0f}/s", rate);
}
std::string times(double ours, double mark, std::string_view of) {
  return fmt::format("{:.2f} times {} ({})", ours / mark, of, per_second(mark));
}

std::vector<Transfer> bench_batch(Rng& rng, std::span<const Uuid> wallets) {
  std::vector<Transfer> transfers;
  transfers.reserve(kMaxBatch);
  for (std::size_t i = 0; i < kMaxBatch; ++i)
    transfers.push_back(bench_transfer(rng, wallets, BenchLoad::kUniform));
  return transfers;
}

// Transfers a second in batches of 10,000, which are made beforehand.
Result<double> batch_rate(double seconds, std::span<const Uuid> wallets,
                          const std::function<Result<>(std::span<const Transfer>)>& one) {
  Rng rng(99);
  double passed = 0;
  std::uint64_t done = 0;
  while (passed < seconds) {
    const auto transfers = bench_batch(rng, wallets);
    const Stopwatch watch;
    TRY(one(transfers));
    passed += watch.seconds();
    done += transfers.size();
  }
  return static_cast<double>(done) / passed;
}

Result<double> store_batch_rate(double seconds, const BenchCommunity& ours) {
  return batch_rate(seconds, ours.wallets, [&](std::span<const Transfer> transfers) -> Result<> {
    TRY(ours.store->batch(transfers, BatchMode::kAll, kBenchActor));
    return {};
  });
}

Result<double> store_single_rate(double seconds, const BenchCommunity& ours, std::size_t in_flight,
                                 BenchLoad load) {
  return rate_of(in_flight, seconds, [&](std::size_t, Rng& rng) -> Result<> {
    TRY(ours.store->transfer(bench_transfer(rng, ours.wallets, load), kBenchActor));
    return {};
  });
}

// Each client has a connection, as with pgbench.
Result<double> plain_single_rate(sql::Database& database, double seconds, const PlainLedger& plain,
                                 std::size_t clients, BenchLoad load) {
  std::vector<sql::Connection> connections;
  connections.reserve(clients);
  for (std::size_t i = 0; i < clients; ++i)
    connections.push_back(TRY(database.acquire(sql::Access::kWrite)));
  return rate_of(clients, seconds, [&](std::size_t client, Rng& rng) {
    return plain.insert(connections[client], bench_transfer(rng, plain.wallets(), load));
  });
}

class PostgresBench {
 public:
  PostgresBench(sql::Database& database, const BenchTokenArguments& arguments,
                node::BenchReport& report)
      : database_(database),
        seconds_(static_cast<double>(arguments.seconds)),
        wallets_(arguments.wallets),
        report_(report) {}

  Result<> run() {
    log::info("measuring", {{"database", database_.name()}, {"wallets", wallets_}});
    auto plain = TRY(PlainLedger::make(database_, "bench_plain", true, wallets_));
    auto bare = TRY(PlainLedger::make(database_, "bench_bare", false, wallets_));
    TRY(drop_schema(database_, "bench_community"));
    auto ours = TRY(make_bench_community(database_, "bench_community", wallets_));
    TRY(served(plain, ours));
    const double uniform = TRY(single(plain, ours, kInFlight, BenchLoad::kUniform));
    (void)TRY(single(plain, ours, kFewInFlight, BenchLoad::kHot));
    (void)TRY(single(plain, ours, kInFlight, BenchLoad::kHot));
    TRY(batches(bare, ours, uniform));
    ours.store.reset();
    TRY(plain.drop());
    TRY(bare.drop());
    return drop_schema(database_, "bench_community");
  }

 private:
  // The mark before and after, because machines change their pace.
  Result<double> single(const PlainLedger& plain, const BenchCommunity& ours, std::size_t clients,
                        BenchLoad load) {
    const double first = TRY(plain_single_rate(database_, seconds_ / 2, plain, clients, load));
    const double rate = TRY(store_single_rate(seconds_, ours, clients, load));
    const double second = TRY(plain_single_rate(database_, seconds_ / 2, plain, clients, load));
    const double mark = (first + second) / 2;
    report_.add(fmt::format("PostgreSQL, {}, single, {} in flight",
                            load == BenchLoad::kHot ? "hot wallet" : "uniform", clients),
                per_second(rate), times(rate, mark, "002's triggers"));
    return mark;
  }

  // First of all, so that the server's own work for the log is that of its transfers only.
  Result<> served(const PlainLedger& plain, const BenchCommunity& ours) {
    const TempDir scratch;
    const double first =
        TRY(plain_single_rate(database_, seconds_ / 2, plain, kInFlight, BenchLoad::kUniform));
    const double rate = TRY(
        served_rate(served_config(scratch.path(), database_.options().location, "bench_community"),
                    ours, kInFlight, seconds_));
    const double second =
        TRY(plain_single_rate(database_, seconds_ / 2, plain, kInFlight, BenchLoad::kUniform));
    report_.add(fmt::format("PostgreSQL, uniform, over HTTP, {} clients", kInFlight),
                per_second(rate), times(rate, (first + second) / 2, "002's triggers"));
    return {};
  }

  // The limit is what the same rows cost if nothing is judged.
  Result<> batches(const PlainLedger& bare, const BenchCommunity& ours, double uniform) {
    auto connection = TRY(database_.acquire(sql::Access::kWrite));
    auto raw = TRY(RawRows::make(database_, "bench_rows", "bench_community", bare.wallets()));
    const auto insert = [&](std::span<const Transfer> transfers) {
      return bare.insert_all(connection, transfers);
    };
    const auto insert_rows = [&](std::span<const Transfer> transfers) {
      return raw.insert_all(connection, transfers);
    };
    const double first = TRY(batch_rate(seconds_ / 2, bare.wallets(), insert));
    const double first_raw = TRY(batch_rate(seconds_ / 2, bare.wallets(), insert_rows));
    const double rate = TRY(store_batch_rate(seconds_, ours));
    const double second_raw = TRY(batch_rate(seconds_ / 2, bare.wallets(), insert_rows));
    const double second = TRY(batch_rate(seconds_ / 2, bare.wallets(), insert));
    const double mark = (first + second) / 2, limit = (first_raw + second_raw) / 2;
    TRY(raw.drop());
    report_.add("PostgreSQL, batches of 10,000", per_second(rate),
                times(rate, limit, "the same rows, nothing judged"));
    report_.add("PostgreSQL, batches of 10,000", per_second(rate),
                times(rate, mark, "a bare INSERT of 002's rows"));
    report_.add("PostgreSQL, batches of 10,000", per_second(rate),
                times(rate, uniform, "002's triggers, uniform"));
    report_.add("PostgreSQL, the same rows of a batch, nothing judged", per_second(limit),
                times(limit, mark, "a bare INSERT of 002's rows"));
    return {};
  }

  sql::Database& database_;
  const double seconds_;
  const std::size_t wallets_;
  node::BenchReport& report_;
};

Result<> bench_sqlite(const BenchTokenArguments& arguments, node::BenchReport& report) {
  const TempDir scratch;
  const config::Config config = served_config(scratch.path(), "", "bench_community");
  TRY(make_directory(community_directory(config), 0700));
  const auto options = TRY(database_options(config, "bench_community"));
  auto database = TRY(sql::Database::open(options));
  const auto ours = TRY(make_bench_community(*database, "bench_community", arguments.wallets));
  const auto seconds = static_cast<double>(arguments.seconds);
  log::info("measuring", {{"database", database->name()}, {"wallets", arguments.wallets}});
  const double served = TRY(served_rate(config, ours, kInFlight, seconds));
  report.add(fmt::format("SQLite, uniform, over HTTP, {} clients", kInFlight), per_second(served),
             "synchronous=FULL; clients and the log included");
  const double batches = TRY(store_batch_rate(seconds, ours));
  report.add("SQLite, batches of 10,000", per_second(batches), "synchronous=FULL; aim: 30,000/s");
  for (const BenchLoad load : {BenchLoad::kUniform, BenchLoad::kHot}) {
    const double rate = TRY(store_single_rate(seconds, ours, kInFlight, load));
    report.add(fmt::format("SQLite, {}, single, {} in flight",
                           load == BenchLoad::kHot ? "hot wallet" : "uniform", kInFlight),
               per_second(rate), "synchronous=FULL; aim: 5,000/s");
  }
  return {};
}

Result<> run_bench_token(const Context& context, const BenchTokenArguments& arguments) {
  node::BenchReport report;
  if (arguments.database.empty()) {
    TRY(bench_sqlite(arguments, report));
  } else {
    sql::DatabaseOptions options;
    options.location = arguments.database;
    options.max_connections = kInFlight + 8;
    auto database = TRY(sql::Database::open(options));
    if (database->dialect() != sql::Dialect::kPostgres)
      return fail(Code::kUsage, "--database: give PostgreSQL; SQLite is measured without it");
    TRY(PostgresBench(*database, arguments, report).run());
  }
  cli::print(context.json ? report.json() + "\n" : report.table());
  return cli::finish_output();
}

}  // namespace

cli::Command bench_token() {
  using A = BenchTokenArguments;
  return node::command<A>(
      {.path = {"bench", "token"},
       .summary = "Measure transfers a second, single and in batches",
       .examples = "  coffer bench token\n"
                   "  coffer bench token --database postgres://coffer@localhost/bench\n",
       .settings = {"log."}},
      {{"--database",
        &A::database,
        "A PostgreSQL database for schemas bench_*, which are made and dropped (default: SQLite)",
        {.value = "LOCATION"}},
       {"--seconds",
        &A::seconds,
        "How long each figure is measured",
        {.show_default = true, .range = cli::Range{1, 600}}},
       {"--wallets",
        &A::wallets,
        "How many wallets there are",
        {.show_default = true, .range = cli::Range{2, 10'000'000}}}},
      run_bench_token);
}

}  // namespace coffer::token
