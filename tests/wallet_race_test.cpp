// Two processes with 32 threads each lease from one database: no coin is ever held twice, and
// whoever is refused is told so by a conflict, never by a deadlock or a busy database.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/random.h"
#include "base/stopwatch.h"
#include "wallet_engines.h"
#include "wallet_world.h"

namespace coffer::wallet::test {
namespace {

constexpr std::size_t kCoins = 100;
constexpr int kThreads = 32;

struct Shared {
  std::atomic<std::uint32_t> holder[kCoins];
  std::atomic<std::uint64_t> leased, refused, held_twice, errors;
  char first_error[200];
};

LockId lock_of(std::uint32_t who) {
  LockId id{};
  store_be32(id.data(), who);
  return id;
}

double seconds() {
  return std::getenv("COFFER_LONG") != nullptr ? 60 : 10;
}

// Takes some coins, holds them for a moment, gives them back; again and again.
void worker(Store& store, WalletId wallet, const std::vector<chain::Outpoint>& coins,
            std::uint32_t who, Shared& shared) {
  Rng rng(who);
  const Stopwatch watch;
  const auto error = [&](const Error& e) {
    if (shared.errors++ == 0) e.message.copy(shared.first_error, sizeof shared.first_error - 1);
  };
  while (watch.seconds() < seconds()) {
    std::set<std::size_t> chosen;
    for (std::uint64_t wanted = rng.between(1, 4); chosen.size() < wanted;)
      chosen.insert(rng.below(kCoins));
    std::vector<chain::Outpoint> outpoints;
    for (const std::size_t index : chosen) outpoints.push_back(coins[index]);
    std::reverse(outpoints.begin(), outpoints.end());  // the store puts them in order
    const auto taken = store.lease(wallet, {outpoints, lock_of(who), 3'600'000});
    if (!taken) {
      taken.error().code == Code::kConflict ? void(++shared.refused) : error(taken.error());
      continue;
    }
    ++shared.leased;
    for (const std::size_t index : chosen) {
      std::uint32_t nobody = 0;
      if (!shared.holder[index].compare_exchange_strong(nobody, who)) ++shared.held_twice;
    }
    for (const std::size_t index : chosen) shared.holder[index] = 0;
    const auto back = store.release(wallet, outpoints, lock_of(who));
    if (!back) error(back.error());
  }
}

void race(const std::function<std::unique_ptr<WalletEngine>()>& make) {
  auto* shared = static_cast<Shared*>(
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  new (shared) Shared{};
  std::vector<chain::Outpoint> coins;
  WalletId wallet;
  {
    const auto engine = make();
    wallet = engine->store().create({"shared"}).value().id;
    ASSERT_TRUE(engine->store().import_script(wallet, script(1), {}));
    std::vector<Pay> pays(kCoins, Pay{script(1), 1000});
    const MadeTx tx = make_tx({foreign(1)}, pays);
    ASSERT_TRUE(engine->store().record(wallet, tx.raw, {}));
    for (std::uint32_t i = 0; i < kCoins; ++i) coins.push_back({tx.id, i});
  }
  std::vector<pid_t> children;
  for (std::uint32_t process = 0; process < 2; ++process) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto engine = make();
      std::vector<std::thread> threads;
      for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&, who = 1 + process * 1000 + static_cast<std::uint32_t>(i)] {
          worker(engine->store(), wallet, coins, who, *shared);
        });
      for (std::thread& thread : threads) thread.join();
      ::_exit(0);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(shared->held_twice, 0u);
  EXPECT_EQ(shared->errors, 0u) << shared->first_error;
  EXPECT_GT(shared->leased, 100u);
  EXPECT_GT(shared->refused, 0u);
  const auto left = make()->store().leases(wallet, {});
  ASSERT_TRUE(left);
  EXPECT_TRUE(left->items.empty());
  testing::Test::RecordProperty("leased", static_cast<int>(shared->leased));
  ::munmap(shared, sizeof(Shared));
}

TEST(WalletRace, LeasesOnSqlite) {
  const TempDir dir;
  race([&] { return WalletEngine::sqlite(dir.path(), nullptr); });
}

TEST(WalletRace, LeasesOnPostgres) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  auto* server = sql::test::PostgresServer::shared();
  sql::DatabaseOptions options;
  options.location = server->location(server->fresh_database());
  options.max_connections = 32;
  race([&] { return std::make_unique<WalletEngine>("postgres", options, StoreOptions{}); });
}

}  // namespace
}  // namespace coffer::wallet::test
