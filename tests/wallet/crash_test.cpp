// A process that changes wallets is killed at any moment, again and again: what it acknowledged is
// there, what it had begun is there whole or not at all, and in the end the state is the model's.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "wallet/support/random_workload.h"

namespace coffer::wallet::test {
namespace {

// How many operations the child has been told are done. Lives in memory that both see.
struct CrashShared {
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> failed{false};
};

constexpr int kKills = 20;                             // in a life
constexpr std::uint64_t kOperations = 35ull * kKills;  // more than enough for them

std::string dump_of(const RandomWorkload& life, std::size_t wallet) {
  return dump(life.model(wallet), {.mempool = false});
}

// The texts of the models after each number of operations.
std::vector<std::string> expected_dumps(std::uint64_t seed) {
  ManualClock clock(kStart);
  RandomWorkload life(seed, clock);
  std::vector<std::string> texts;
  for (std::uint64_t i = 0; i <= kOperations; ++i) {
    std::string text;
    for (std::size_t w = 0; w < kWallets; ++w) text += dump_of(life, w);
    texts.push_back(std::move(text));
    if (i < kOperations) life.step();
  }
  return texts;
}

using MakeEngine = std::function<std::unique_ptr<WalletEngine>(const Clock*)>;

// The clock as it is after so many operations: leases depend on it.
void go_through(RandomWorkload& life, std::uint64_t operations) {
  for (std::uint64_t i = 0; i < operations; ++i) life.step();
}

// The child: goes on from operation `from` until it is killed or through.
[[noreturn]] void live_on(std::uint64_t seed, std::uint64_t from, const MakeEngine& make,
                          CrashShared& shared) {
  ManualClock clock(kStart);
  RandomWorkload life(seed, clock);
  go_through(life, from);
  const auto engine = make(&clock);
  life.join(*engine);
  for (std::uint64_t i = from; i < kOperations; ++i) {
    life.step();
    if (testing::Test::HasFailure()) {
      shared.failed = true;
      ::_exit(1);
    }
    shared.done = i + 1;
  }
  ::_exit(0);
}

void kill_again_and_again(const MakeEngine& make, std::uint64_t seed) {
  auto* shared = static_cast<CrashShared*>(::mmap(
      nullptr, sizeof(CrashShared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  new (shared) CrashShared;
  const std::vector<std::string> expected = expected_dumps(seed);
  {
    ManualClock clock(kStart);
    RandomWorkload::create_wallets(*make(&clock));
  }
  Rng rng(seed);
  std::uint64_t at = 0;
  int killed = 0;
  while (at < kOperations) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) live_on(seed, at, make, *shared);
    // Somewhere in the next operations, and somewhere within one of them. Once there were enough
    // kills, it may end.
    const std::uint64_t steps = rng.below(40);
    const bool let_live = killed >= kKills;
    int status = 0;
    pid_t ended = 0;
    while ((ended = ::waitpid(child, &status, WNOHANG)) == 0)
      if (!let_live && shared->done >= at + steps) break;
    if (ended == 0) {
      ::usleep(static_cast<useconds_t>(rng.below(3'000)));
      ::kill(child, SIGKILL);
      ASSERT_EQ(::waitpid(child, &status, 0), child);
      ++killed;
    }
    ASSERT_FALSE(shared->failed) << "seed " << seed << " from " << at;
    const std::uint64_t done = std::max<std::uint64_t>(shared->done, at);

    // What is there now: all that was acknowledged, or one more.
    ManualClock clock(kStart);
    RandomWorkload life(seed, clock);
    go_through(life, done);
    std::string found;
    for (std::uint64_t tries = done; tries <= std::min(done + 1, kOperations); ++tries) {
      if (tries > done) go_through(life, 1);
      const auto engine = make(&clock);
      found.clear();
      for (std::size_t w = 0; w < kWallets; ++w) {
        const auto wallet = engine->store().find("wallet" + std::to_string(w));
        ASSERT_TRUE(wallet) << wallet.error().message;
        found += dump(engine->store(), wallet->id, {.mempool = false});
      }
      at = tries;
      const auto verified = engine->store().verify();
      ASSERT_TRUE(verified) << verified.error().message;
      if (found == expected[tries]) break;
      if (tries == std::min(done + 1, kOperations)) {
        // Pruning is done in steps, each of them whole: what is left of it is done again.
        if (life.did() == "pruned") {
          at = done;
          break;
        }
        ASSERT_EQ(found, expected[done])
            << "seed " << seed << " after " << done << " operations; next: " << life.did();
      }
    }
  }
  EXPECT_GE(killed, kKills) << "it was through too soon";
  ::munmap(shared, sizeof(CrashShared));
}

std::uint64_t lives() {
  return std::getenv("COFFER_LONG") != nullptr ? 10 : 1;
}

StoreOptions crash_options() {
  StoreOptions options;
  options.prune_window = 3;
  return options;
}

TEST(WalletCrash, KilledOnSqlite) {
  for (std::uint64_t seed = 1; seed <= lives(); ++seed) {
    const TempDir dir;
    kill_again_and_again(
        [&](const Clock* clock) {
          return WalletEngine::sqlite(dir.path(), clock, crash_options());
        },
        seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

TEST(WalletCrash, KilledOnPostgres) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  auto* server = sql::test::PostgresServer::shared();
  for (std::uint64_t seed = 101; seed <= 100 + lives(); ++seed) {
    sql::DatabaseOptions options;
    options.location = server->location(server->fresh_database());
    options.seed = 1;
    kill_again_and_again(
        [&](const Clock* clock) {
          sql::DatabaseOptions mine = options;
          mine.clock = clock;
          return std::make_unique<WalletEngine>("postgres", mine, crash_options());
        },
        seed);
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace coffer::wallet::test
