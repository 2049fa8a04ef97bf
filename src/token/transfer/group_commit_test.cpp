#include <atomic>
#include <future>
#include <thread>

#include "base/random.h"
#include "token/transfer/test_ledger.h"

namespace coffer::token::test {
namespace {

class TokenGroups : public LedgerTest {
 protected:
  // Submits all at once and waits for all answers.
  std::vector<Result<Applied>> send_all(const std::vector<Transfer>& transfers) {
    std::vector<std::promise<Result<Applied>>> promises(transfers.size());
    for (std::size_t i = 0; i < transfers.size(); ++i)
      store().submit(transfers[i], kTester,
                     [&, i](Result<Applied> answer) { promises[i].set_value(std::move(answer)); });
    std::vector<Result<Applied>> answers;
    answers.reserve(promises.size());
    for (auto& promise : promises) answers.push_back(promise.get_future().get());
    return answers;
  }
  std::future<Result<Applied>> send_later(const Transfer& transfer) {
    auto promise = std::make_shared<std::promise<Result<Applied>>>();
    store().submit(transfer, kTester,
                   [promise](Result<Applied> answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  static bool is_done(std::future<Result<Applied>>& answer) {
    return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
  }
};
COFFER_ON_EVERY_ENGINE(TokenGroups);

class TokenGroupsOnServers : public TokenGroups {};
COFFER_ON_EVERY_SERVER(TokenGroupsOnServers);

TEST_P(TokenGroups, HotWalletTakesAllThreads) {
  constexpr int kThreads = 64, kEach = 10;
  const Uuid hot = make_user_wallet(kThreads * kEach / 2);  // half of them is refused
  std::vector<Uuid> wallets;
  wallets.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) wallets.push_back(make_wallet());
  std::atomic<int> applied{0}, refused{0};
  std::mutex mutex;
  std::set<std::int64_t> balances;
  {
    std::vector<std::jthread> threads;
    threads.reserve(kThreads);
    for (int i = 0; i < kThreads; ++i)
      threads.emplace_back([&, i] {
        for (int k = 0; k < kEach; ++k) {
          const auto answer = store().transfer(
              make_transfer(hot, wallets[static_cast<std::size_t>(i)], 1), kTester);
          if (!answer) {
            EXPECT_EQ(answer.error().reason, "insufficient_balance") << answer.error().message;
            ++refused;
            continue;
          }
          ++applied;
          const std::lock_guard lock(mutex);
          // Each answer is another step of the balance: some serial order.
          EXPECT_TRUE(balances.insert(answer->balance).second) << answer->balance;
        }
      });
  }
  EXPECT_EQ(applied, kThreads * kEach / 2);
  EXPECT_EQ(refused, kThreads * kEach / 2);
  const auto groups = store().group_stats();
  EXPECT_EQ(groups.transfers, kThreads * kEach);
  EXPECT_LT(groups.groups, groups.transfers / 2);  // they do not go one by one
  EXPECT_EQ(balance(hot), 0);
  expect_consistent();
}

TEST_P(TokenGroups, OpposingTransfersDoNotDeadlock) {
  std::vector<Uuid> wallets;
  wallets.reserve(4);
  for (int i = 0; i < 4; ++i) wallets.push_back(make_user_wallet(1'000));
  {
    std::vector<std::jthread> threads;
    threads.reserve(64);
    for (unsigned i = 0; i < 64; ++i)
      threads.emplace_back([&, i] {
        Rng rng(i);
        for (int k = 0; k < 10; ++k) {
          const auto from = rng.below(4), to = (from + 1 + rng.below(3)) % 4;
          const auto answer =
              store().transfer(make_transfer(wallets[from], wallets[to], 1), kTester);
          EXPECT_TRUE(answer) << answer.error().message;
        }
      });
  }
  expect_consistent();
  EXPECT_EQ(count("SELECT count(*) FROM @transaction_details WHERE actor = 'user:tester'"), 640);
}

TEST_P(TokenGroups, RefusalTouchesNobodyElse) {
  const Uuid poor = make_user_wallet(), rich = make_user_wallet(100), nobody = random_uuid();
  std::vector<Transfer> transfers;
  for (int i = 0; i < 30; ++i) {
    transfers.push_back(make_transfer(rich, poor, 2));
    transfers.push_back(make_transfer(poor, rich, 1'000));
    transfers.push_back(make_transfer(rich, nobody, 1));
  }
  const auto answers = send_all(transfers);
  for (std::size_t i = 0; i < answers.size(); i += 3) {
    EXPECT_TRUE(answers[i]) << answers[i].error().message;
    EXPECT_EQ(reason_of(answers[i + 1]), "insufficient_balance");
    EXPECT_EQ(reason_of(answers[i + 2]), "recipient_not_found");
  }
  EXPECT_EQ(balance(rich), 40);
  expect_consistent();
}

TEST_P(TokenGroups, SameIdInOneGroupIsARepeatOrTaken) {
  const Uuid alice = make_user_wallet(100), bob = make_user_wallet();
  const Transfer transfer = make_transfer(alice, bob, 10);
  Transfer other = transfer;
  other.amount = 11;
  const auto answers = send_all({transfer, transfer, other, transfer});
  EXPECT_EQ(answers[0]->balance, 90);
  EXPECT_FALSE(answers[0]->is_repeat);
  EXPECT_TRUE(answers[1]->is_repeat);
  EXPECT_EQ(answers[1]->balance, 90);
  EXPECT_EQ(reason_of(answers[2]), "id_taken");
  EXPECT_TRUE(answers[3]->is_repeat);
  EXPECT_EQ(balance(alice), 90);
}

TEST_P(TokenGroups, IdInsertedElsewhereMeanwhileIsFound) {
  const Uuid alice = make_user_wallet(1'000), bob = make_user_wallet(1'000),
             carol = make_user_wallet();
  // Another process brings the same ids between this one's look and its insert.
  std::vector<Transfer> transfers;
  transfers.reserve(40);
  for (int i = 0; i < 40; ++i) transfers.push_back(make_transfer(alice, carol, 1));
  std::jthread other([&] {
    for (const Transfer& transfer : transfers) {
      Transfer theirs = transfer;
      theirs.from = bob;
      (void)insert(theirs);
    }
  });
  const auto answers = send_all(transfers);
  other.join();
  std::int64_t applied = 0;
  for (const auto& answer : answers) {
    if (answer)
      ++applied;
    else
      EXPECT_EQ(answer.error().reason, "id_taken") << answer.error().message;
  }
  EXPECT_EQ(balance(alice), 1'000 - applied);
  EXPECT_EQ(balance(carol), 40);
  expect_consistent();
}

TEST_P(TokenGroups, TooManyWaiting) {
  store_options_.max_waiting = 4;
  const Uuid alice = make_user_wallet(100), bob = make_user_wallet();
  std::vector<Transfer> transfers;
  transfers.reserve(200);
  for (int i = 0; i < 200; ++i) transfers.push_back(make_transfer(alice, bob, 1));
  int refused = 0;
  for (const auto& answer : send_all(transfers)) {
    if (answer || answer.error().reason == "insufficient_balance") continue;
    EXPECT_EQ(answer.error().reason, "too_many_waiting");
    EXPECT_EQ(answer.error().code, Code::kUnavailable);
    EXPECT_TRUE(answer.error().retryable);
    ++refused;
  }
  EXPECT_GT(refused, 0);
  expect_consistent();
}

TEST_P(TokenGroups, ClosingAnswersWhatWaits) {
  const Uuid alice = make_user_wallet(10'000), bob = make_user_wallet();
  std::atomic<int> answered{0}, applied{0};
  for (int i = 0; i < 500; ++i)
    store().submit(make_transfer(alice, bob, 1), kTester, [&](const Result<Applied>& answer) {
      ++answered;
      if (answer)
        ++applied;
      else
        EXPECT_EQ(answer.error().code, Code::kCancelled) << answer.error().message;
    });
  store_.reset();
  EXPECT_EQ(answered, 500);
  EXPECT_EQ(balance(bob), applied);
  expect_consistent();
}

// However many there are: one wait to insert and commit what is good, two more to decide what is
// not and commit the rest, and two a group for a while after that.
TEST_P(TokenGroupsOnServers, GroupWaitsOnceForTheServerIfAllAreGood) {
  store_options_.committers = 1;
  const Uuid alice = make_user_wallet(1'000), bob = make_user_wallet(1'000);
  const auto waits_for = [&](const std::vector<Transfer>& transfers, std::size_t good) {
    const auto before = db().stats().server_waits;
    std::size_t applied = 0;
    for (const auto& answer : send_all(transfers))
      if (answer) ++applied;
    EXPECT_EQ(applied, good);
    return db().stats().server_waits - before;
  };
  const auto one = [&](std::int64_t amount) {
    return std::vector{make_transfer(alice, bob, amount)};
  };
  (void)waits_for(one(1), 1);  // statements are prepared
  EXPECT_EQ(waits_for(one(1), 1), 1u);
  std::vector<Transfer> many;
  many.reserve(300);
  for (int i = 0; i < 300; ++i)
    many.push_back(i % 2 == 0 ? make_transfer(alice, bob, 1) : make_transfer(bob, alice, 1));
  // The first group may be small; then all that came meanwhile is one.
  EXPECT_LE(waits_for(many, 300), 3u);
  (void)waits_for(one(5'000), 0);
  (void)waits_for(one(1), 1);  // statements are prepared
  EXPECT_EQ(waits_for(one(1), 1), 2u);
  for (int i = 0; i < 40; ++i) (void)waits_for(one(1), 1);
  EXPECT_EQ(waits_for(one(1), 1), 1u);
}

TEST_P(TokenGroupsOnServers, WalletLockedElsewhereStallsNobodyElse) {
  options_.lock_timeout_ms = 60'000;
  database_.reset();  // with the longer timeout
  community_ = std::make_unique<Community>(db(), "village");
  const Uuid alice = make_user_wallet(1'000), bob = make_user_wallet(1'000),
             carol = make_user_wallet(1'000);
  auto held = lock(alice);
  auto waiting = send_later(make_transfer(alice, bob, 7));
  auto receiving = send_later(make_transfer(bob, alice, 5));
  for (int i = 0; i < 50; ++i) ASSERT_TRUE(store().transfer(make_transfer(bob, carol, 1), kTester));
  EXPECT_FALSE(is_done(waiting));
  EXPECT_FALSE(is_done(receiving));
  held->release();
  EXPECT_TRUE(waiting.get());
  EXPECT_TRUE(receiving.get());
  EXPECT_EQ(balance(alice), 998);
  expect_consistent();
}

TEST_P(TokenGroupsOnServers, WalletLockedTooLongIsUnavailable) {
  options_.lock_timeout_ms = 200;
  database_.reset();
  community_ = std::make_unique<Community>(db(), "village");
  const Uuid alice = make_user_wallet(1'000), bob = make_user_wallet();
  auto held = lock(bob);
  const auto refused = store().transfer(make_transfer(alice, bob, 7), kTester);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable) << refused.error().message;
  EXPECT_TRUE(refused.error().retryable);
  sql::test::expect_one_line(refused.error());
  held->release();
  EXPECT_TRUE(store().transfer(make_transfer(alice, bob, 7), kTester));
  EXPECT_EQ(balance(alice), 993);
}

// Connections that break, before, during and after the commit: every transfer is applied once.
TEST_P(TokenGroupsOnServers, LostConnectionsApplyEachOnce) {
  constexpr int kWanted = 12, kMost = 2'000;  // breaks at work; transfers of each thread
  const Uuid alice = make_user_wallet(1'000'000 / 4), bob = make_user_wallet();
  std::atomic<bool> stop{false};
  std::atomic<int> broken{0};
  auto killer = sql::Database::open(options_);
  ASSERT_TRUE(killer);
  std::jthread breaking([&] {
    while (!stop) {
      auto connection = (*killer)->acquire();
      if (connection) {
        auto rows = connection->query(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            " AND state <> 'idle' AND query LIKE '%transactions%'");
        while (rows && rows->next().value_or(false)) ++broken;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  });
  std::atomic<int> applied{0};
  {
    std::vector<std::jthread> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        for (int k = 0; k < kMost && broken < kWanted; ++k) {
          const Transfer transfer = make_transfer(alice, bob, 1);
          // An error leaves it open; the same id again settles it.
          for (int attempt = 0;; ++attempt) {
            const auto answer = store().transfer(transfer, kTester);
            if (answer) {
              ++applied;
              break;
            }
            if (attempt == 50) {
              ADD_FAILURE() << answer.error().message;
              break;
            }
          }
        }
      });
  }
  stop = true;
  breaking.join();
  EXPECT_GE(broken, kWanted);
  EXPECT_EQ(balance(bob), applied);
  expect_consistent();
}

}  // namespace
}  // namespace coffer::token::test
