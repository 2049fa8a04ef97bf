// Random operations on a community on SQLite, PostgreSQL and PgBouncer and on a plain model: after
// every operation all answer and hold the same. A failure names its seed; run that one alone with
// COFFER_SEED=N, or so many from it with COFFER_SEEDS.
#include <gtest/gtest.h>

#include "base/temp_dir.h"
#include "sql/test_postgres.h"
#include "support/memory_files.h"
#include "support/random_seeds.h"
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

void run_all(const std::string& location, std::uint64_t every) {
  Coverage met;
  const auto seeds = coffer::test::seeds_of_run(500, 20'000);
  seeds.run([&](std::uint64_t seed) {
    if (seeds.count > 1 && seed % every != 0) return;
    Workload workload(seed, location, met);
    workload.run(60);
  });
  if (seeds.count / every < 125) return;  // rare answers need so many
  for (const char* answer : kAnswers) EXPECT_GE(met[answer], 1u) << answer << " never occurred";
}

TEST(TokenModel, RandomOperationsMatchModelOnSqlite) {
  coffer::test::keep_temp_files_in_memory();  // nothing is killed here
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
