// Random lives of two wallets on SQLite, on PostgreSQL and in a plain model in memory: after every
// step all answer the same, errors included. A failure names its seed; run that one alone
// with COFFER_SEED=N, or so many from it with COFFER_SEEDS.
#include <sched.h>

#include "base/result.h"
#include "base/test_data.h"
#include "support/memory_files.h"
#include "support/random_seeds.h"
#include "wallet/support/random_workload.h"

namespace coffer::wallet::test {
namespace {

// This program and the server take turns, and on one core need not wake another for each.
void stay_on_one_core() {
  cpu_set_t here;
  CPU_ZERO(&here);
  CPU_SET(::sched_getcpu(), &here);
  (void)::sched_setaffinity(0, sizeof(here), &here);
}

StoreOptions store_options() {
  StoreOptions options;
  options.prune_window = 3;
  options.step = 2;
  return options;
}

void live(std::uint64_t seed, const std::vector<WalletEngine*>& engines, ManualClock& clock,
          WorkloadCoverage& met) {
  RandomWorkload life(seed, clock);
  for (WalletEngine* engine : engines) {
    engine->empty();
    RandomWorkload::create_wallets(*engine);
    life.join(*engine);
  }
  life.run(life.looks_back() ? 80 : 24);
  life.age();
  life.run(life.looks_back() ? 20 : 6);
  // It looks at everything, which takes as long as many steps.
  if (seed % 10 == 0) life.verify();
  life.tell(met);
}

TEST(WalletModel, RandomWorkloadsMatchModel) {
  const auto seeds = coffer::test::seeds_of_run(500, 100'000);
  coffer::test::keep_temp_files_in_memory();  // nothing is killed here
  stay_on_one_core();
  const TempDir dir;
  ManualClock clock(kStart);
  const auto lite = WalletEngine::sqlite(dir.path(), &clock, store_options());
  const auto postgres = WalletEngine::postgres(&clock, store_options());
  if (shared_data_required()) {
    ASSERT_NE(postgres, nullptr) << "PostgreSQL is not installed";
  }
  // Nearly all of the time is PostgreSQL's: in a short run it joins every fourth life.
  const std::uint64_t every = seeds.chosen || coffer::test::long_run() ? 1 : 4;
  WorkloadCoverage met;
  seeds.run([&](std::uint64_t seed) {
    std::vector<WalletEngine*> engines = {lite.get()};
    if (postgres && seed % every == 0) engines.push_back(postgres.get());
    live(seed, engines, clock, met);
  });
  std::cerr << fmt::format("of pruned transactions {} coins and {} spends were found later\n",
                           met.found_coins, met.found_spends);
  if (seeds.count < 500) return;
  EXPECT_GT(met.found_coins, 0u);
  EXPECT_EQ(met.statuses.size(), 5u);
  EXPECT_EQ(met.states.size(), 8u);
  EXPECT_EQ(met.reasons, (std::set<std::string>{"", "replaced", "double_spent", "parent_invalid",
                                                "cancelled", "reorganised"}));
  EXPECT_TRUE(met.refusals.contains("conflict") && met.refusals.contains("not_found") &&
              met.refusals.contains("invalid_input"));
  EXPECT_GT(met.stubs, 0u);
  EXPECT_GT(met.edges, 0u);
  EXPECT_GT(met.leases, 0u);
}

TEST(WalletModel, RandomWorkloadsThroughPgBouncer) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  COFFER_REQUIRE_PGBOUNCER_OR_SKIP();
  const TempDir dir;
  ManualClock clock(kStart);
  const auto lite = WalletEngine::sqlite(dir.path(), &clock, store_options());
  const auto bouncer = WalletEngine::pgbouncer(&clock, store_options());
  WorkloadCoverage met;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    live(seed, {lite.get(), bouncer.get()}, clock, met);
    ASSERT_FALSE(testing::Test::HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace coffer::wallet::test
