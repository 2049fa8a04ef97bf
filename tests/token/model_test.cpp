// Random operations on a community on SQLite, PostgreSQL and PgBouncer and on a plain model: after
// every operation all answer and hold the same. A failure names its seed; run that one alone with
// COFFER_SEED=N, or so many from it with COFFER_SEEDS.
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/temp_dir.h"
#include "sql/test_postgres.h"
#include "support/process.h"
#include "token/support/workload.h"

namespace coffer::token::test {
namespace {

// Every answer that an operation can have. Not among them, by construction: balance_overflow (no
// balance passes the issuance, which has the same bound).
constexpr const char* kAnswers[] = {"transfer",
                                    "repeat",
                                    "raw transfer",
                                    "item of a batch",
                                    "reverse",
                                    "open hold",
                                    "end hold",
                                    "freeze",
                                    "unfreeze",
                                    "delete user",
                                    "reactivate user",
                                    "set limits",
                                    "one of several",
                                    "invalid_input",
                                    "id_taken",
                                    "unique",
                                    "created_in_future",
                                    "sender_not_found",
                                    "sender_frozen",
                                    "sender_deleted",
                                    "recipient_frozen",
                                    "recipient_deleted",
                                    "recipient_not_found",
                                    "not_a_system_wallet",
                                    "insufficient_balance",
                                    "balance_held",
                                    "issuance_overflow",
                                    "above_transfer_limit",
                                    "above_daily_limit",
                                    "hold_not_found",
                                    "hold_ended",
                                    "hold_expired",
                                    "above_hold",
                                    "is_issuance",
                                    "is_reversal",
                                    "already_reversed",
                                    "transaction_not_found",
                                    "wallet_not_found",
                                    "user_not_found",
                                    "system_wallet",
                                    "balance_is_derived",
                                    "immutable",
                                    "has_history"};

struct Seeds {
  std::uint64_t first = 1, count = 500;
};
Seeds seeds_of_run() {
  Seeds seeds;
  if (coffer::test::long_run()) seeds.count = 20'000;
  if (const char* seed = std::getenv("COFFER_SEED")) {
    seeds.first = std::strtoull(seed, nullptr, 10);
    const char* count = std::getenv("COFFER_SEEDS");
    seeds.count = count != nullptr ? std::strtoull(count, nullptr, 10) : 1;
  }
  return seeds;
}

void run_all(const std::string& location, std::uint64_t every) {
  Coverage met;
  const Seeds seeds = seeds_of_run();
  for (std::uint64_t seed = seeds.first; seed < seeds.first + seeds.count; ++seed) {
    if (seeds.count > 1 && seed % every != 0) continue;
    Workload workload(seed, location, met);
    workload.run(60);
    ASSERT_FALSE(testing::Test::HasFailure()) << "COFFER_SEED=" << seed;
  }
  if (seeds.count / every < 60) return;
  for (const char* answer : kAnswers) EXPECT_GE(met[answer], 1u) << answer << " never occurred";
}

TEST(TokenModel, RandomOperationsMatchModelOnSqlite) {
  // Nothing is killed here: in memory, where there is such a place, the disk does not set the pace.
  std::error_code none;
  if (std::filesystem::is_directory("/dev/shm", none)) ::setenv("TMPDIR", "/dev/shm", 0);
  const TempDir dir;
  run_all(dir.path().string(), 1);
}

TEST(TokenModel, RandomOperationsMatchModelOnPostgres) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  auto* const server = sql::test::PostgresServer::shared();
  run_all(server->location(server->fresh_database()), 5);
}

TEST(TokenModel, RandomOperationsMatchModelOnPgBouncer) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  COFFER_REQUIRE_PGBOUNCER_OR_SKIP();
  const std::string name = sql::test::PostgresServer::shared()->fresh_database();
  run_all(sql::test::PgBouncer::shared()->location(name), 10);
}

}  // namespace
}  // namespace coffer::token::test
