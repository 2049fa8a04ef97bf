// Leases and the time they live by (W8), and what a balance is made of (W1, W7, W13).
#include <future>
#include <thread>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Leases : public WalletTest {
 protected:
  Result<std::int64_t> lease(std::vector<chain::Outpoint> coins, std::uint8_t who,
                             std::int64_t ms = 1'000) {
    return store().lease(alice_, {std::move(coins), lock_id(who), ms});
  }
  Result<std::int64_t> renew(std::vector<chain::Outpoint> coins, std::uint8_t who,
                             std::int64_t ms = 1'000) {
    return store().renew(alice_, {std::move(coins), lock_id(who), ms});
  }
  std::size_t listed() { return store().leases(alice_, {})->items.size(); }
  std::vector<chain::Outpoint> spendable() {
    CoinQuery query;
    query.spendable = true;
    std::vector<chain::Outpoint> list;
    const auto page = store().coins(alice_, query);
    for (const Coin& found : page->items) list.push_back(found.outpoint);
    return list;
  }
};
COFFER_ON_BOTH_ENGINES(Leases);

TEST_P(Leases, ExpiredLeaseIsNotListed) {  // W8
  const MadeTx money = confirmed();
  const auto until = lease({coin(money)}, 1, 1'000);
  ok(until);
  EXPECT_EQ(*until, clock().unix_ms() + 1'000);
  EXPECT_EQ(listed(), 1u);
  EXPECT_EQ(balance().leased, 100u);
  EXPECT_TRUE(spendable().empty());
  clock().advance_ms(999);
  EXPECT_EQ(listed(), 1u);
  clock().advance_ms(1);
  EXPECT_EQ(listed(), 0u);
  EXPECT_EQ(balance().leased, 0u);
  EXPECT_EQ(balance().spendable, 100u);
  EXPECT_EQ(spendable(), std::vector{coin(money)});
  EXPECT_FALSE(store().coin(alice_, coin(money))->lease);
  EXPECT_EQ(store().stats()->leases, 1u);
  EXPECT_EQ(store().stats()->active_leases, 0u);
  EXPECT_EQ(store().clean_leases().value(), 1u);
  EXPECT_EQ(store().stats()->leases, 0u);
}

TEST_P(Leases, CleanupKeepsActiveLeases) {  // W8
  const MadeTx one = confirmed(), two = confirmed();
  ok(lease({coin(one)}, 1, 100));
  ok(lease({coin(two)}, 1, 1'000));
  clock().advance_ms(100);
  EXPECT_EQ(store().clean_leases().value(), 1u);
  EXPECT_EQ(listed(), 1u);
}

TEST_P(Leases, ExpiredLeaseCanBeTakenOver) {  // W8
  const MadeTx money = confirmed();
  ok(lease({coin(money)}, 1));
  clock().advance_ms(999);
  EXPECT_EQ(code(lease({coin(money)}, 2)), Code::kConflict);
  clock().advance_ms(1);
  ok(lease({coin(money)}, 2));
  EXPECT_EQ(code(renew({coin(money)}, 1)), Code::kConflict);
  EXPECT_EQ(code(store().release(alice_, std::vector{coin(money)}, lock_id(1))), Code::kConflict);
  EXPECT_EQ(store().coin(alice_, coin(money))->lease->lock_id, lock_id(2));
}

TEST_P(Leases, RenewExtendsLease) {  // W8
  const MadeTx money = confirmed();
  ok(lease({coin(money)}, 1));
  clock().advance_ms(900);
  const auto until = renew({coin(money)}, 1);
  ok(until);
  EXPECT_EQ(*until, clock().unix_ms() + 1'000);
  clock().advance_ms(900);
  EXPECT_EQ(listed(), 1u);
  clock().advance_ms(100);
  EXPECT_EQ(code(renew({coin(money)}, 1)), Code::kConflict);  // too late
}

TEST_P(Leases, CallersClockIsIgnored) {  // W8
  const MadeTx money = confirmed();
  ok(lease({coin(money)}, 1));
  // Nothing of the caller's time is in the request; the database's own stands in the answer, and a
  // second process that believes in another year sees the same lease as long as the database does.
  const auto now = number("SELECT coffer_now()");
  EXPECT_EQ(now, clock().unix_ms());
  EXPECT_EQ(store().leases(alice_, {})->items.front().lease.expires_at_ms, now + 1'000);
}

// At the very millisecond at which it ends, a lease is over for everybody.
TEST_P(Leases, ExpiredLeaseCannotBeRenewed) {  // W8
  const MadeTx small = confirmed(10), large = confirmed(100);
  ok(lease({coin(small), coin(large)}, 1));
  const MadeTx payment = tx({coin(small)}, {{99, 9}});
  clock().advance_ms(999);
  EXPECT_EQ(code(record_pending(payment)), Code::kConflict);
  EXPECT_EQ(code(store().release(alice_, std::vector{coin(large)}, lock_id(2))), Code::kConflict);
  clock().advance_ms(1);
  ok(store().release(alice_, std::vector{coin(large)}, lock_id(2)));
  ok(record_pending(payment));
}

TEST_P(Leases, OwnLeaseIsSelectedUntilExpiry) {  // W8
  const MadeTx small = confirmed(10), large = confirmed(100);
  ok(lease({coin(small)}, 1));
  const LeaseSelection wanted{.amount = 10, .lock_id = lock_id(1), .duration_ms = 1'000};
  clock().advance_ms(1'000);
  const auto later = store().select_and_lease(alice_, wanted);
  ok(later);
  ASSERT_EQ(later->coins.size(), 1u);
  EXPECT_EQ(later->coins[0].outpoint, coin(large)) << "the largest of all that are free";
  clock().advance_ms(999);
  ok(lease({coin(small)}, 2));
  const auto again = store().select_and_lease(alice_, wanted);
  ok(again);
  ASSERT_EQ(again->coins.size(), 1u);
  EXPECT_EQ(again->coins[0].outpoint, coin(large));
}

TEST_P(Leases, ImmatureCoinbaseCannotBeLeased) {  // W7
  mine();
  const MadeTx reward = coinbase(5'000);
  mine({reward});
  mine_empty(99);
  const LeaseSelection wanted{.amount = 5'000, .lock_id = lock_id(1), .duration_ms = 1'000};
  EXPECT_EQ(code(lease({coin(reward)}, 1)), Code::kConflict);
  EXPECT_EQ(code(store().select_and_lease(alice_, wanted)), Code::kConflict);
  mine();
  ok(lease({coin(reward)}, 1));
  ok(store().release_all(alice_, lock_id(1)));
  ok(store().select_and_lease(alice_, wanted));
  EXPECT_EQ(balance().leased, 5'000u);
}

TEST_P(Leases, RepeatedLeaseHasSameAnswer) {  // E3
  const MadeTx money = confirmed();
  const auto first = lease({coin(money)}, 1);
  const std::string before = everything();
  const auto again = lease({coin(money)}, 1);
  ok(again);
  EXPECT_EQ(*first, *again);
  EXPECT_EQ(everything(), before);
}

TEST_P(Leases, RepeatedLeaseDoesNotShorten) {
  const MadeTx money = confirmed(), other = confirmed();
  ok(lease({coin(money)}, 1, 5'000));
  EXPECT_EQ(lease({coin(money), coin(other)}, 1, 100).value(), kStart + 100);  // the other's
  EXPECT_EQ(renew({coin(money)}, 1, 100).value(), kStart + 5'000);
  LeaseSelection selection{.amount = 100, .lock_id = lock_id(1), .duration_ms = 10};
  ok(store().select_and_lease(alice_, selection));
  clock().advance_ms(4'999);
  EXPECT_EQ(listed(), 1u);
}

TEST_P(Leases, LeaseIsAllOrNothing) {  // W8
  const MadeTx one = confirmed(), two = confirmed(), three = confirmed();
  ok(lease({coin(two)}, 2));
  const std::string before = everything();
  EXPECT_EQ(code(lease({coin(three), coin(two), coin(one)}, 1)), Code::kConflict);
  EXPECT_EQ(code(lease({coin(one), foreign(5)}, 1)), Code::kNotFound);
  EXPECT_EQ(code(lease({coin(one), coin(one)}, 1)), Code::kInvalidInput);
  EXPECT_EQ(code(lease({}, 1)), Code::kInvalidInput);
  EXPECT_EQ(code(lease({coin(one)}, 1, 0)), Code::kInvalidInput);
  EXPECT_EQ(code(lease({coin(one)}, 1, kMaxLeaseMs + 1)), Code::kInvalidInput);
  EXPECT_EQ(code(renew({coin(one), coin(two)}, 2)), Code::kConflict);
  EXPECT_EQ(everything(), before);
}

TEST_P(Leases, ReleaseAllReleasesActiveLeases) {
  const MadeTx one = confirmed(), two = confirmed(), three = confirmed();
  ok(lease({coin(one)}, 1, 100));
  ok(lease({coin(two)}, 1, 1'000));
  ok(lease({coin(three)}, 2, 1'000));
  clock().advance_ms(100);
  EXPECT_EQ(store().release_all(alice_, lock_id(1)).value(), 1u);
  EXPECT_EQ(store().release_all(alice_, lock_id(1)).value(), 0u);
  EXPECT_EQ(listed(), 1u);
}

TEST_P(Leases, ReleaseOfUnleasedCoinSucceeds) {
  const MadeTx money = confirmed();
  ok(store().release(alice_, std::vector{coin(money)}, lock_id(1)));
}

TEST_P(Leases, LeaseOutlivesFailedSpender) {
  const MadeTx money = confirmed();
  ok(lease({coin(money)}, 1));
  const MadeTx payment = tx({coin(money)}, {{99, 90}});
  ok(record_pending(payment, {.lock_id = lock_id(1)}));
  EXPECT_EQ(code(lease({coin(money)}, 1)), Code::kConflict);  // it is locked
  ok(store().cancel(alice_, payment.id));
  EXPECT_EQ(balance().leased, 100u);
}

TEST_P(Leases, ConcurrentSelectLeasesOnce) {  // W8
  constexpr int kThreads = 4, kCoins = 8;
  std::vector<MadeTx> coins;
  coins.reserve(kCoins);
  for (int i = 0; i < kCoins; ++i) coins.push_back(incoming());
  mine(coins);
  std::vector<std::vector<chain::Outpoint>> got(kThreads);
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int tries = 0; tries < 200 && got[static_cast<std::size_t>(t)].size() < 2; ++tries) {
        const auto choice = spendable();
        if (choice.empty()) return;
        const auto pick = choice[static_cast<std::size_t>(tries) % choice.size()];
        const auto leased = lease({pick}, static_cast<std::uint8_t>(t + 1));
        if (leased) got[static_cast<std::size_t>(t)].push_back(pick);
        if (!leased) {
          EXPECT_EQ(leased.error().code, Code::kConflict) << leased.error().message;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  std::set<chain::Outpoint> all;
  std::size_t count = 0;
  for (const auto& list : got) all.insert(list.begin(), list.end()), count += list.size();
  EXPECT_EQ(count, static_cast<std::size_t>(kCoins));
  EXPECT_EQ(all.size(), count);
}

TEST_P(Leases, LeasesAreTakenInCoinOrder) {  // W8
  const MadeTx one = confirmed(), two = confirmed();
  const std::uint64_t retries = engine_->database().stats().retries;
  std::vector<std::thread> threads;
  for (const bool backwards : {false, true})
    threads.emplace_back([&, backwards] {
      std::vector<chain::Outpoint> coins = {coin(one), coin(two)};
      if (backwards) std::swap(coins[0], coins[1]);
      const std::uint8_t who = backwards ? 1 : 2;
      for (int i = 0; i < 50; ++i) {
        const auto leased = lease(coins, who);
        if (leased) {
          ok(store().release(alice_, coins, lock_id(who)));
        } else {
          EXPECT_EQ(leased.error().code, Code::kConflict) << leased.error().message;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(engine_->database().stats().retries, retries);  // the server broke no deadlock
}

// The cleanup has found the lease expired, and waits for whoever takes it over.
TEST_P(Leases, CleanupKeepsTakenOverLease) {  // W8
  if (is_sqlite()) return;                    // one writer at a time
  const MadeTx money = confirmed();
  ok(lease({coin(money)}, 1));
  clock().advance_ms(1'000);
  std::future<Result<std::uint64_t>> cleaned;
  ok(engine_->database().run_transaction([&](sql::Transaction& at) -> Result<> {
    (void)TRY(at.execute("UPDATE utxo_leases SET expires_at = expires_at + 1000"));
    cleaned = std::async(std::launch::async, [&] { return store().clean_leases(); });
    EXPECT_TRUE(waits_for_a_lock(cleaned));
    return {};
  }));
  EXPECT_EQ(cleaned.get().value(), 0u);
  EXPECT_EQ(listed(), 1u);
}

// ---- balances ----

class Balances : public WalletTest {};
COFFER_ON_BOTH_ENGINES(Balances);

TEST_P(Balances, PendingOutputsDoNotCount) {  // W1
  const MadeTx money = confirmed(100);
  const MadeTx planned = tx({coin(money)}, {{99, 50}, {1, 40}});
  ok(record_pending(planned));
  const Balance now = balance();
  EXPECT_EQ(now.locked, 100u);
  EXPECT_EQ(now.total, 100u);
  EXPECT_EQ(now.spendable, 0u);
  EXPECT_EQ(now.unconfirmed, 0u);
  CoinQuery query;
  query.spendable = true;
  EXPECT_TRUE(store().coins(alice_, query)->items.empty());
  query.chain_pending = true;
  const auto chained = store().coins(alice_, query);
  ASSERT_EQ(chained->items.size(), 1u);
  EXPECT_EQ(chained->items[0].outpoint, coin(planned, 1));
  ok(store().cancel(alice_, planned.id));
  EXPECT_EQ(balance().spendable, 100u);
  const auto free_again = store().coins(alice_, query);
  ASSERT_EQ(free_again->items.size(), 1u);
  EXPECT_EQ(free_again->items[0].outpoint, coin(money));
}

TEST_P(Balances, CoinbaseMaturesAfter100Blocks) {  // W7
  mine();
  const MadeTx reward = coinbase(5'000);
  mine({reward});
  mine_empty(99);
  EXPECT_EQ(balance().tip_height - 1, 99);
  EXPECT_EQ(balance().immature, 5'000u);
  EXPECT_EQ(balance().spendable, 0u);
  CoinQuery query;
  query.spendable = true;
  EXPECT_TRUE(store().coins(alice_, query)->items.empty());
  mine();
  EXPECT_EQ(balance().tip_height - 1, 100);
  EXPECT_EQ(balance().immature, 0u);
  EXPECT_EQ(balance().spendable, 5'000u);
  EXPECT_EQ(store().coins(alice_, query)->items.size(), 1u);
  roll_back(1);
  EXPECT_EQ(balance().immature, 5'000u);
}

TEST_P(Balances, KindsAreDisjointAndSumToTotal) {  // W13
  const MadeTx one = confirmed(1), two = confirmed(20);
  const MadeTx leased = confirmed(300);
  see(incoming(4'000));
  const MadeTx loose = incoming(50'000);
  see(loose);
  mine({coinbase(600'000)});
  ok(record_pending(tx({coin(two)}, {{1, 7}})));
  ok(store().lease(alice_, {{coin(leased), coin(loose)}, lock_id(1), 1'000}));
  const Balance now = balance();
  EXPECT_EQ(now.confirmed, 301u);
  EXPECT_EQ(now.unconfirmed, 54'000u);
  EXPECT_EQ(now.immature, 600'000u);
  EXPECT_EQ(now.locked, 20u);
  EXPECT_EQ(now.total, 654'321u);
  EXPECT_EQ(now.coins, 6u);
  EXPECT_EQ(now.leased, 50'300u);
  EXPECT_EQ(now.spendable, 1u);
}

TEST_P(Balances, ByAccountAndScript) {  // W13
  ImportOptions savings;
  savings.account = "savings";
  ok(store().import_script(alice_, script(5), savings));
  mine({coinbase(40'000, 5), incoming(10, 1), incoming(200, 2), incoming(3'000, 5)});
  EXPECT_EQ(balance({}, {.account = "savings"}).total, 43'000u);
  EXPECT_EQ(balance({}, {.account = "savings"}).immature, 40'000u);
  EXPECT_EQ(balance({}, {.account = "default"}).total, 210u);
  EXPECT_EQ(balance({}, {.script = script(2)}).confirmed, 200u);
  EXPECT_EQ(balance().total, 43'210u);
  EXPECT_EQ(code(store().balance(alice_, {.account = "none"})), Code::kNotFound);
  EXPECT_EQ(code(store().balance(alice_, {.script = script(99)})), Code::kNotFound);
  EXPECT_EQ(code(store().balance(alice_, {.account = "default", .script = script(5)})),
            Code::kNotFound);
}

}  // namespace
}  // namespace coffer::wallet::test
