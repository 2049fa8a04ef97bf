// SIGKILL inside deletion, rollback and conflict resolution, at random moments: what is left is
// sound each time, and in the end the store is as if nobody had been killed.
#include <sys/mman.h>

#include <chrono>
#include <csignal>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "base/stopwatch.h"
#include "base/temp_dir.h"
#include "support/process.h"
#include "txstore/support/store_place.h"

namespace coffer::txstore::test {
namespace {

enum class KillIn : std::uint8_t { kDeletion, kRollback, kConflicts };
constexpr std::size_t kKillKinds = 3;
constexpr std::size_t kMostSteps = 20'000;

// What processes tell each other.
struct KillShared {
  std::atomic<std::size_t> next;  // the step that is being taken
  struct Step {
    bool does[kKillKinds];
    std::int64_t micros;
  } steps[kMostSteps];  // as the undisturbed run met them
};

class StoreKills : public testing::TestWithParam<StoreKind> {
 protected:
  void SetUp() override {
    if (GetParam() == StoreKind::kPostgres) {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
    }
    steps_ = devnet_steps({.seed = 11, .txs_per_block = 10, .reorg_every = 6, .max_reorg_depth = 8},
                          blocks());
    ASSERT_LE(steps_.size(), kMostSteps);
    shared_ = static_cast<KillShared*>(::mmap(nullptr, sizeof(KillShared), PROT_READ | PROT_WRITE,
                                              MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(shared_, MAP_FAILED);
    new (shared_) KillShared{};
  }
  void TearDown() override {
    if (shared_ != nullptr) ::munmap(shared_, sizeof(KillShared));
  }
  static std::size_t blocks() { return coffer::test::long_run() ? 600 : 220; }
  StorePlace fresh() const {
    Options options;
    options.window = options.block_height_retention = 12;
    options.cleanup_budget = 20;  // deletion takes several steps
    return StorePlace::fresh(GetParam(), dir_.path(), options);
  }

  // Takes the steps from the one that may be half taken on. `at`: called before each.
  Result<> follow(const StorePlace& place, const std::function<void(std::size_t)>& at) const {
    const auto store = TRY(OpenedStore::open(place));
    const auto consumer = TRY(Consumer::open(**store));
    for (; shared_->next < steps_.size(); ++shared_->next) {
      at(shared_->next);
      TRY(steps_[shared_->next].take(*consumer));
      // To completion: what a step leaves to the next would depend on how often it was killed.
      if (steps_[shared_->next].block) TRY(consumer->flush());
    }
    return {};
  }
  // Notes what each step does and how long it takes.
  Result<> follow_undisturbed(const StorePlace& place) const {
    const auto store = TRY(OpenedStore::open(place));
    const auto consumer = TRY(Consumer::open(**store));
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const CounterTotals before = (*store)->counters();
      const Stopwatch watch;
      TRY(steps_[i].take(*consumer));
      if (steps_[i].block) TRY(consumer->flush());
      const CounterTotals after = (*store)->counters();
      KillShared::Step& step = shared_->steps[i];
      step.micros = static_cast<std::int64_t>(watch.micros());
      step.does[static_cast<int>(KillIn::kDeletion)] = after.deleted > before.deleted;
      step.does[static_cast<int>(KillIn::kRollback)] = after.rollbacks > before.rollbacks;
      step.does[static_cast<int>(KillIn::kConflicts)] = after.conflicted > before.conflicted;
    }
    return {};
  }
  Result<> verify_at(const StorePlace& place) const {
    const auto store = TRY(OpenedStore::open(place));
    return verify_store(**store);
  }
  // Pruned to completion, in a process of its own.
  std::string dump_of(const StorePlace& place) const {
    const std::filesystem::path file = dir_.path() / "dump";
    const int status = end_of_process(start_process([&]() -> Result<> {
      const auto store = TRY(OpenedStore::open(place));
      (void)TRY((*store)->prune());
      TRY(verify_store(**store));
      std::ofstream(file) << TRY(dump_store(**store));
      return {};
    }));
    EXPECT_EQ(status, 0);
    return sql::test::read_text(file);
  }
  std::optional<std::size_t> next_of(KillIn kind, std::size_t from, std::uint64_t skip) const {
    for (std::size_t i = from; i < steps_.size(); ++i)
      if (shared_->steps[i].does[static_cast<int>(kind)] && skip-- == 0) return i;
    return {};
  }

  const TempDir dir_;
  std::vector<ChainStep> steps_;
  KillShared* shared_ = nullptr;
};
INSTANTIATE_TEST_SUITE_P(Every, StoreKills,
                         testing::Values(StoreKind::kRocksDb, StoreKind::kSqlite,
                                         StoreKind::kPostgres),
                         testing::PrintToStringParamName());

// RocksDB's threads stay when a database is closed, and a fork has none of them: if other tests of
// this program may have used it, this one is run by a process of its own.
bool run_alone() {
  const testing::UnitTest& program = *testing::UnitTest::GetInstance();
  if (program.test_to_run_count() == 1) return false;
  const testing::TestInfo& test = *program.current_test_info();
  coffer::test::Process alone(
      {std::filesystem::read_symlink("/proc/self/exe").string(), "--gtest_brief=1",
       fmt::format("--gtest_filter={}.{}", test.test_suite_name(), test.name())});
  const auto end = alone.wait(3'000'000);
  EXPECT_TRUE(end && end->exit_code == 0) << (end ? end->out + end->err : "it does not end");
  return true;
}

TEST_P(StoreKills, KilledRunEndsLikeUndisturbedOne) {
  if (run_alone()) return;
  const StorePlace undisturbed = fresh();
  ASSERT_EQ(end_of_process(start_process([&] { return follow_undisturbed(undisturbed); })), 0);
  const std::string expected = dump_of(undisturbed);
  ASSERT_FALSE(expected.empty());
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  StorePlace killed = fresh();
  const int wanted = coffer::test::long_run() ? 200 : 20;
  int inside[kKillKinds] = {}, total = 0;
  for (int attempt = 0; total < wanted && attempt < 20 * wanted; ++attempt) {
    const auto kind = static_cast<KillIn>(attempt % kKillKinds);
    const auto target = next_of(kind, shared_->next, rng.below(3));
    if (!target) {  // near the end: to the end, and once more from the beginning
      ASSERT_EQ(end_of_process(start_process([&] { return follow(killed, [](auto) {}); })), 0);
      ASSERT_EQ(dump_of(killed), expected);
      killed = fresh();
      shared_->next = 0;
      continue;
    }
    const auto delay = static_cast<std::int64_t>(
        rng.below(static_cast<std::uint64_t>(shared_->steps[*target].micros) + 1));
    const pid_t child = start_process([&] {
      return follow(killed, [&](std::size_t step) {
        if (step != *target) return;
        std::thread([delay] {
          std::this_thread::sleep_for(std::chrono::microseconds(delay));
          ::kill(::getpid(), SIGKILL);
        }).detach();
      });
    });
    const int status = end_of_process(child);
    if (!WIFSIGNALED(status)) {  // it was faster
      ASSERT_EQ(status, 0);
      continue;
    }
    ASSERT_EQ(WTERMSIG(status), SIGKILL);
    if (shared_->next == *target) {
      ++inside[static_cast<int>(kind)];
      ++total;
    }
    ASSERT_EQ(end_of_process(start_process([&] { return verify_at(killed); })), 0)
        << "after step " << shared_->next;
  }
  EXPECT_GE(total, wanted);
  for (const int count : inside) EXPECT_GT(count, 0);
  ASSERT_EQ(end_of_process(start_process([&] { return follow(killed, [](auto) {}); })), 0);
  EXPECT_EQ(dump_of(killed), expected);
}

}  // namespace
}  // namespace coffer::txstore::test
