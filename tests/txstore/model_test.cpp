// Random operations on the transaction store on RocksDB, SQLite and PostgreSQL and on a plain model
// in memory that keeps all history: after every operation all answer and hold the same. A failure
// names its seed; run that one alone with COFFER_SEED=N, or so many from it with COFFER_SEEDS.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "sql/test_postgres.h"
#include "support/memory_files.h"
#include "support/random_seeds.h"
#include "txstore/support/model_workload.h"

namespace coffer::txstore::test {
namespace {

// What each operation can answer.
const std::map<std::string, std::vector<Outcome>> kOutcomesOf = {
    {"create",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kDeletedChild, Outcome::kUnknownParent,
      Outcome::kOutputNotFound}},
    {"spend itself", {Outcome::kNotFound, Outcome::kConflicting}},
    {"spend",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kConflicting,
      Outcome::kLocked, Outcome::kImmatureCoinbase, Outcome::kOutputNotFound,
      Outcome::kHashMismatch, Outcome::kFrozen, Outcome::kDeletedChild, Outcome::kSpent}},
    {"unspend itself", {Outcome::kNotFound, Outcome::kMined}},
    {"unspend",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kOutputNotFound,
      Outcome::kDeletedChild}},
    {"set_mined", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kConflicting}},
    {"unset_mined", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound}},
    {"mark_conflicting",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kMined}},
    {"unmark_conflicting",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kConflicting,
      Outcome::kLocked, Outcome::kImmatureCoinbase, Outcome::kOutputNotFound, Outcome::kFrozen,
      Outcome::kDeletedChild, Outcome::kSpent}},
    {"remove", {Outcome::kDone, Outcome::kNotFound, Outcome::kKept}},
    {"lock", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kMined}},
    {"unlock", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound}},
    {"freeze",
     {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound, Outcome::kOutputNotFound,
      Outcome::kSpent}},
    {"unfreeze",
     {Outcome::kDone, Outcome::kNotFound, Outcome::kOutputNotFound, Outcome::kNotFrozen}},
    {"reassign",
     {Outcome::kDone, Outcome::kNotFound, Outcome::kOutputNotFound, Outcome::kHashMismatch,
      Outcome::kNotFrozen}},
    {"preserve", {Outcome::kDone, Outcome::kUnchanged, Outcome::kNotFound}},
};

coffer::test::Seeds seeds_of_run() {
  return coffer::test::seeds_of_run(500, 20'000);
}

void expect_full_coverage(const Coverage& coverage) {
  if (testing::Test::HasFailure() || seeds_of_run().count < 500) return;
  constexpr std::uint64_t kLeast = 50;
  for (const auto& [name, outcomes] : kOutcomesOf)
    for (const Outcome outcome : outcomes) {
      const auto found = coverage.outcomes.find(name);
      const std::uint64_t times =
          found == coverage.outcomes.end() || !found->second.contains(outcome)
              ? 0
              : found->second.at(outcome);
      EXPECT_GE(times, kLeast) << name << " " << outcome;
    }
  // And nothing else.
  for (const auto& [name, outcomes] : coverage.outcomes)
    for (const auto& [outcome, times] : outcomes) {
      const auto& known = kOutcomesOf.find(name);
      const bool is_known =
          known != kOutcomesOf.end() &&
          std::find(known->second.begin(), known->second.end(), outcome) != known->second.end();
      EXPECT_TRUE(is_known || name.ends_with(" itself")) << name << " " << outcome;
    }
  for (std::size_t i = 0; i < retention::kReasons; ++i)
    EXPECT_GE(coverage.kept[i], kLeast) << static_cast<retention::Reason>(i);
  EXPECT_GE(coverage.arms.mined, kLeast);
  EXPECT_GE(coverage.arms.conflicting, kLeast);
  EXPECT_GE(coverage.arms.expired, kLeast);
  EXPECT_GE(coverage.arms.preservation_ended, kLeast);
}

void run_all(const std::vector<Engine>& engines, std::uint64_t every, Coverage& coverage) {
  coffer::test::keep_temp_files_in_memory();  // nothing is killed here
  const coffer::test::Seeds seeds = seeds_of_run();
  seeds.run([&](std::uint64_t seed) {
    if (seeds.count > 1 && seed % every != 0) return;
    Sequence sequence(seed, engines, coverage);
    sequence.run(60);
  });
}

// The model by itself: the generator meets everything. Costs a second.
TEST(TxStoreModel, GeneratorMeetsEverything) {
  Coverage coverage;
  run_all({}, 1, coverage);
  expect_full_coverage(coverage);
}

TEST(TxStoreModel, RandomOperationsMatchModelOnRocksDb) {
  Coverage coverage;
  run_all({Engine::kRocksDb}, 1, coverage);
  expect_full_coverage(coverage);
}

TEST(TxStoreModel, RandomOperationsMatchModelOnSqlite) {
  Coverage coverage;
  run_all({Engine::kSqlite}, 1, coverage);
  expect_full_coverage(coverage);
}

// A quarter of the sequences: each operation takes its round trips.
TEST(TxStoreModel, RandomOperationsMatchModelOnPostgres) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  Coverage coverage;
  run_all({Engine::kPostgres}, 4, coverage);
}

}  // namespace
}  // namespace coffer::txstore::test
