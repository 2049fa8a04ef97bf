// Two processes with 32 threads each lease from one database, while blocks come in and expired
// leases are cleaned away: no coin is ever held twice, and whoever is refused is told so by a
// conflict, never by a deadlock or a busy database. Half of the coins are leased for an hour and
// given back; the others for a moment, renewed, given back or left to expire, so that another takes
// them over. Some do not name coins but select them.
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "base/random.h"
#include "base/stopwatch.h"
#include "sql/connection.h"
#include "wallet/support/engines.h"
#include "wallet/support/tx_builder.h"

namespace coffer::wallet::test {
namespace {

constexpr std::size_t kCoins = 100, kShort = 50;  // the coins from kShort on are leased briefly
constexpr std::size_t kMaxClaims = 1'000'000;
constexpr int kThreads = 32;

// Somebody held a coin at least from one time of the database's clock to another.
struct Claim {
  std::size_t coin = 0;
  LockId who{};
  std::int64_t from_ms = 0, to_ms = 0;
  bool expired = false;  // it was not given back
};

struct RaceShared {
  std::atomic<std::uint32_t> holder[kShort];
  std::atomic<std::uint64_t> leased, refused, held_twice, errors;
  std::atomic<std::uint64_t> renewed, renewed_late, blocks, cleaned, selected;
  char first_error[200];
  std::atomic<std::size_t> claims;
  Claim claim[kMaxClaims];

  void error(const Error& e) {
    if (errors++ == 0) e.message.copy(first_error, sizeof first_error - 1);
  }
};

// Each lease has another, so that nobody gives back early what he also leased before.
LockId lock_of(std::uint32_t who, std::uint32_t number) {
  LockId id{};
  store_be32(id.data(), who);
  store_be32(id.data() + 4, number);
  return id;
}

double seconds() {
  return std::getenv("COFFER_LONG") != nullptr ? 60 : 10;
}

class Worker {
 public:
  Worker(Store& store, WalletId wallet, const std::vector<chain::Outpoint>& coins,
         std::uint32_t who, RaceShared& shared)
      : store_(store), wallet_(wallet), coins_(coins), who_(who), shared_(shared), rng_(who) {}

  void run() {
    const Stopwatch watch;
    while (watch.seconds() < seconds()) {
      const std::uint64_t pick = rng_.below(5);
      pick < 2 ? for_an_hour() : pick < 4 ? for_a_moment() : by_selection();
    }
  }

 private:
  std::set<std::size_t> choose(std::size_t first, std::size_t last) {
    std::set<std::size_t> chosen;
    for (std::uint64_t wanted = rng_.between(1, 4); chosen.size() < wanted;)
      chosen.insert(rng_.between(first, last));
    return chosen;
  }
  std::vector<chain::Outpoint> outpoints(const std::set<std::size_t>& chosen) const {
    std::vector<chain::Outpoint> list;
    list.reserve(chosen.size());
    for (const std::size_t index : chosen) list.push_back(coins_[index]);
    std::reverse(list.begin(), list.end());  // the store puts them in order
    return list;
  }
  std::optional<std::int64_t> lease(const std::vector<chain::Outpoint>& coins, std::int64_t ms) {
    lock_ = lock_of(who_, ++leases_);
    const auto until = store_.lease(wallet_, {coins, lock_, ms});
    if (until) return ++shared_.leased, *until;
    until.error().code == Code::kConflict ? void(++shared_.refused) : shared_.error(until.error());
    return {};
  }
  void release(const std::vector<chain::Outpoint>& coins) {
    const auto back = store_.release(wallet_, coins, lock_);
    if (!back) shared_.error(back.error());
  }
  std::int64_t now() {
    auto connection = store_.database().acquire();
    const auto ms = connection ? connection->value<std::int64_t>("SELECT coffer_now()")
                               : std::unexpected(connection.error());
    if (ms && *ms) return **ms;
    shared_.error(ms.error());
    return 0;
  }

  void for_an_hour() {
    const std::set<std::size_t> chosen = choose(0, kShort - 1);
    const std::vector<chain::Outpoint> list = outpoints(chosen);
    if (!lease(list, 3'600'000)) return;
    for (const std::size_t index : chosen) {
      std::uint32_t nobody = 0;
      if (!shared_.holder[index].compare_exchange_strong(nobody, who_)) ++shared_.held_twice;
    }
    for (const std::size_t index : chosen) shared_.holder[index] = 0;
    release(list);
  }

  // Whatever is free, the larger ones first: those are leased by name for an hour.
  void by_selection() {
    lock_ = lock_of(who_, ++leases_);
    LeaseSelection wanted;
    wanted.amount = 2'000 * rng_.between(1, 4);
    wanted.lock_id = lock_;
    wanted.duration_ms = 3'600'000;
    wanted.order = CoinOrder::kLargest;
    wanted.chain_pending = true;
    const auto selected = store_.select_and_lease(wallet_, wanted);
    if (!selected) {
      const bool is_said = selected.error().code == Code::kConflict || selected.error().retryable;
      return is_said ? void(++shared_.refused) : shared_.error(selected.error());
    }
    ++shared_.selected;
    const std::int64_t from = now();
    std::set<std::size_t> of_hours, of_moments;
    for (const Coin& coin : selected->coins) {
      const auto at = std::ranges::find(coins_, coin.outpoint);
      if (at == coins_.end()) continue;  // what a block has paid meanwhile
      const auto index = static_cast<std::size_t>(at - coins_.begin());
      (index < kShort ? of_hours : of_moments).insert(index);
    }
    for (const std::size_t index : of_hours) {
      std::uint32_t nobody = 0;
      if (!shared_.holder[index].compare_exchange_strong(nobody, who_)) ++shared_.held_twice;
    }
    claim(of_moments, from, now(), false);
    for (const std::size_t index : of_hours) shared_.holder[index] = 0;
    const auto back = store_.release_all(wallet_, lock_);
    if (!back) return shared_.error(back.error());
    if (*back != selected->coins.size()) ++shared_.held_twice;
  }

  // It is ours from when we were told so until it expires, or until just before we give it back.
  void for_a_moment() {
    const std::set<std::size_t> chosen = choose(kShort, kCoins - 1);
    const std::vector<chain::Outpoint> list = outpoints(chosen);
    auto until = lease(list, static_cast<std::int64_t>(rng_.between(20, 400)));
    if (!until) return;
    const std::int64_t from = now();
    for (int renewals = 0; renewals < 3 && rng_.one_in(2); ++renewals) {
      const auto later =
          store_.renew(wallet_, {list, lock_, static_cast<std::int64_t>(rng_.between(20, 400))});
      if (!later) {
        // Too late: somebody else may have it.
        later.error().code == Code::kConflict ? void(++shared_.renewed_late)
                                              : shared_.error(later.error());
        return claim(chosen, from, *until, true);
      }
      ++shared_.renewed;
      until = *later;
    }
    if (rng_.one_in(2)) return claim(chosen, from, *until, true);
    const std::int64_t to = std::min(*until, now());
    claim(chosen, from, to, false);
    // Another may have it by now, and then we are told so.
    const auto back = store_.release(wallet_, list, lock_);
    if (!back && back.error().code != Code::kConflict) shared_.error(back.error());
  }
  void claim(const std::set<std::size_t>& chosen, std::int64_t from, std::int64_t to,
             bool expired) {
    for (const std::size_t index : chosen) {
      const std::size_t place = shared_.claims++;
      if (place < kMaxClaims && from < to) shared_.claim[place] = {index, lock_, from, to, expired};
    }
  }

  Store& store_;
  const WalletId wallet_;
  const std::vector<chain::Outpoint>& coins_;
  const std::uint32_t who_;
  RaceShared& shared_;
  Rng rng_;
  LockId lock_{};
  std::uint32_t leases_ = 0;
};

// The follower: each block pays the wallet; and expired leases go.
void write_beside(WalletEngine& engine, WalletId wallet, RaceShared& shared) {
  const Stopwatch watch;
  Hash256 prev{};
  for (std::uint32_t height = 0; watch.seconds() < seconds(); ++height) {
    const MadeTx tx = make_tx({foreign(100 + height)}, {{script(1), 5}});
    const auto block = make_block(engine.network(), prev, height, {tx}, height);
    prev = block->hash;
    const auto done = engine.consumer().on_block({Ordinal(height), block, false, 0});
    if (!done) return shared.error(done.error());
    ++shared.blocks;
    const auto gone = engine.store().clean_leases();
    if (!gone) return shared.error(gone.error());
    shared.cleaned += *gone;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // it is one of many
  }
  EXPECT_TRUE(engine.store().balance(wallet));
}

// By the database's clock nobody held a coin while it was another's. How many were taken over from
// one who had let it expire.
std::size_t check_claims(RaceShared& shared) {
  std::vector<Claim> claims;
  for (std::size_t i = 0; i < std::min<std::size_t>(shared.claims, kMaxClaims); ++i)
    if (shared.claim[i].from_ms != 0) claims.push_back(shared.claim[i]);
  std::sort(claims.begin(), claims.end(), [](const Claim& a, const Claim& b) {
    return std::tie(a.coin, a.from_ms, a.to_ms) < std::tie(b.coin, b.from_ms, b.to_ms);
  });
  std::size_t taken_over = 0;
  for (std::size_t i = 1; i < claims.size(); ++i) {
    const Claim &before = claims[i - 1], &after = claims[i];
    if (before.coin != after.coin) continue;
    EXPECT_LE(before.to_ms, after.from_ms)
        << "coin " << after.coin << " of " << to_hex(before.who.view()) << " and "
        << to_hex(after.who.view());
    if (before.expired) ++taken_over;
  }
  return taken_over;
}

void race(const std::function<std::unique_ptr<WalletEngine>()>& make) {
  auto* shared = static_cast<RaceShared*>(::mmap(
      nullptr, sizeof(RaceShared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(shared, MAP_FAILED);
  new (shared) RaceShared{};
  std::vector<chain::Outpoint> coins;
  WalletId wallet;
  {
    const auto engine = make();
    wallet = engine->store().create({"shared"}).value().id;
    ASSERT_TRUE(engine->store().import_script(wallet, script(1), {}));
    std::vector<Pay> pays(kShort, Pay{script(1), 2'000});
    pays.resize(kCoins, Pay{script(1), 1'000});
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
      threads.reserve(kThreads);
      for (int i = 0; i < kThreads; ++i)
        threads.emplace_back([&, who = 1 + process * 1000 + static_cast<std::uint32_t>(i)] {
          Worker(engine->store(), wallet, coins, who, *shared).run();
        });
      if (process == 0) write_beside(*engine, wallet, *shared);
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
  EXPECT_GT(check_claims(*shared), 0u);
  EXPECT_GT(shared->renewed, 0u);
  EXPECT_GT(shared->selected, 10u);
  EXPECT_GT(shared->blocks, 10u);
  const auto engine = make();
  // The last short ones expire by themselves.
  std::size_t left = kCoins;
  for (const Stopwatch watch; left > 0 && watch.seconds() < 10;)
    left = engine->store().leases(wallet, {}).value().items.size();
  EXPECT_EQ(left, 0u);
  const auto verified = engine->store().verify();
  EXPECT_TRUE(verified) << verified.error().message;
  testing::Test::RecordProperty("leased", static_cast<int>(shared->leased));
  ::munmap(shared, sizeof(RaceShared));
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
