// Coins chosen and leased at once (W8).
#include <future>
#include <thread>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Select : public WalletTest {
 protected:
  LeaseSelection wanted(std::uint64_t amount, std::uint8_t who = 1) {
    return {.amount = amount, .lock_id = lock_id(who), .duration_ms = 1'000};
  }
  std::vector<std::uint64_t> amounts(const Result<SelectedCoins>& selected) {
    ok(selected);
    std::vector<std::uint64_t> list;
    if (selected)
      for (const Coin& one : selected->coins) list.push_back(one.amount.value);
    std::sort(list.begin(), list.end());
    return list;
  }
  using Amounts = std::vector<std::uint64_t>;
};
COFFER_ON_BOTH_ENGINES(Select);

TEST_P(Select, TakesCoinsInOrderUntilEnough) {
  for (const std::uint64_t amount : {40, 10, 30, 20}) (void)confirmed(amount);
  const auto largest = store().select_and_lease(alice_, wanted(60));
  EXPECT_EQ(amounts(largest), (Amounts{30, 40}));
  EXPECT_EQ(largest->amount, 70u);
  EXPECT_EQ(largest->expires_at_ms, kStart + 1'000);
  EXPECT_EQ(balance().leased, 70u);
  EXPECT_EQ(balance().spendable, 30u);
  LeaseSelection smallest = wanted(5, 2);
  smallest.order = CoinOrder::kSmallest;
  EXPECT_EQ(amounts(store().select_and_lease(alice_, smallest)), (Amounts{10}));
}

TEST_P(Select, RepeatedRequestGetsSameCoins) {  // E3
  for (int i = 0; i < 3; ++i) (void)confirmed(100);
  const auto first = store().select_and_lease(alice_, wanted(150));
  clock().advance_ms(500);
  const auto again = store().select_and_lease(alice_, wanted(150));
  ASSERT_TRUE(first && again);
  ASSERT_EQ(again->coins.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(again->coins[i].outpoint, first->coins[i].outpoint);
  EXPECT_EQ(again->expires_at_ms, kStart + 1'500);
  EXPECT_EQ(amounts(store().select_and_lease(alice_, wanted(250))).size(), 3u);  // one more
}

TEST_P(Select, InsufficientFundsLeasesNothing) {  // E6
  (void)confirmed(100);
  const MadeTx held = confirmed(50);
  see(incoming(1'000));
  mine({coinbase(5'000)});
  ok(store().lease(alice_, {{coin(held)}, lock_id(9), 1'000}));
  const std::string before = everything();
  const auto refused = store().select_and_lease(alice_, wanted(101));
  EXPECT_EQ(code(refused), Code::kConflict);
  EXPECT_NE(refused.error().message.find("only 100 satoshi"), std::string::npos);
  EXPECT_EQ(everything(), before);
  clock().advance_ms(1'000);  // the other lease has ended
  EXPECT_EQ(amounts(store().select_and_lease(alice_, wanted(101))), (Amounts{50, 100}));
}

// Whatever is chosen, another has leased it by then: a trigger plays the rivals who are faster.
TEST_P(Select, ContentionIsNotInsufficientFunds) {  // E6
  (void)confirmed(100);
  const std::string_view lose = is_sqlite()
                                    ? "CREATE TRIGGER trg_lose BEFORE INSERT ON utxo_leases"
                                      " BEGIN SELECT RAISE(IGNORE); END"
                                    : "CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql"
                                      " AS 'BEGIN RETURN NULL; END';"
                                      "CREATE TRIGGER trg_lose BEFORE INSERT ON utxo_leases"
                                      " FOR EACH ROW EXECUTE FUNCTION lose()";
  ok(script_sql(lose));
  const auto refused = store().select_and_lease(alice_, wanted(60));
  ok(script_sql(is_sqlite() ? "DROP TRIGGER trg_lose" : "DROP FUNCTION lose() CASCADE"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable) << refused.error().message;
  EXPECT_TRUE(refused.error().retryable);
  EXPECT_EQ(balance().leased, 0u);
  EXPECT_EQ(amounts(store().select_and_lease(alice_, wanted(60))), (Amounts{100}));
}

TEST_P(Select, UnconfirmedNeedsOptIn) {  // W1
  const MadeTx money = confirmed(100);
  ok(record_pending(tx({coin(money)}, {{1, 90}})));
  see(incoming(7));
  EXPECT_EQ(code(store().select_and_lease(alice_, wanted(1))), Code::kConflict);
  LeaseSelection chained = wanted(95);
  chained.chain_pending = true;
  EXPECT_EQ(amounts(store().select_and_lease(alice_, chained)), (Amounts{7, 90}));
}

TEST_P(Select, OwnLeaseCountsIfSpendable) {  // W1
  (void)confirmed(30);
  const MadeTx loose = incoming(100);
  see(loose);
  ok(store().lease(alice_, {{coin(loose)}, lock_id(1), 1'000}));
  EXPECT_EQ(code(store().select_and_lease(alice_, wanted(50))), Code::kConflict);
  EXPECT_EQ(amounts(store().select_and_lease(alice_, wanted(30))), (Amounts{30}));
}

TEST_P(Select, ByAccount) {
  ImportOptions savings;
  savings.account = "savings";
  ok(store().import_script(alice_, script(5), savings));
  mine({incoming(100, 1), incoming(30, 5)});
  LeaseSelection selection = wanted(10);
  selection.account = "savings";
  EXPECT_EQ(amounts(store().select_and_lease(alice_, selection)), (Amounts{30}));
  selection.account = "none";
  EXPECT_EQ(code(store().select_and_lease(alice_, selection)), Code::kNotFound);
}

TEST_P(Select, BadInput) {
  EXPECT_EQ(code(store().select_and_lease(alice_, wanted(0))), Code::kInvalidInput);
  EXPECT_EQ(code(store().select_and_lease(alice_, wanted(21'000'000ull * 100'000'000 + 1))),
            Code::kInvalidInput);
  LeaseSelection endless = wanted(1);
  endless.duration_ms = 0;
  EXPECT_EQ(code(store().select_and_lease(alice_, endless)), Code::kInvalidInput);
  EXPECT_EQ(code(store().select_and_lease(WalletId(999'999), wanted(1))), Code::kNotFound);
}

// Two who select do not choose the same coins: the second waits for the wallet.
TEST_P(Select, ConcurrentSelectWaits) {  // W8
  if (is_sqlite()) return;               // one writer at a time
  (void)confirmed(100);
  std::future<Result<SelectedCoins>> selected;
  ok(engine_->database().run_transaction([&](sql::Transaction& at) -> Result<> {
    (void)TRY(at.query("SELECT id FROM wallets WHERE id = $1 FOR NO KEY UPDATE", {alice_}));
    selected = std::async(std::launch::async,
                          [&] { return store().select_and_lease(alice_, wanted(100)); });
    EXPECT_TRUE(waits_for_a_lock(selected));
    return {};
  }));
  EXPECT_EQ(amounts(selected.get()), (Amounts{100}));
}

// Somebody spends the coin and has not committed yet: whoever wants to lease it waits, and then
// sees that it is spent.
TEST_P(Select, CoinSpentMeanwhileIsNotLeased) {  // W8
  if (is_sqlite()) return;                       // one writer at a time
  is_damaged();                                  // the spender names no coin
  const MadeTx money = confirmed(100);
  see(incoming(1));
  for (const bool by_name : {true, false}) {
    const auto lease = [&]() -> Result<> {
      if (by_name)
        (void)TRY(store().lease(alice_, {{coin(money)}, lock_id(1), 1'000}));
      else
        (void)TRY(store().select_and_lease(alice_, wanted(100)));
      return {};
    };
    ok(sql("UPDATE utxos SET spent_by_tx_id = NULL, spent_input_index = NULL"));
    std::future<Result<>> leased;
    ok(engine_->database().run_transaction([&](sql::Transaction& at) -> Result<> {
      (void)TRY(
          at.execute("UPDATE utxos SET spent_by_tx_id = (SELECT max(id) FROM transactions),"
                     " spent_input_index = 0 WHERE amount = 100"));
      leased = std::async(std::launch::async, lease);
      EXPECT_TRUE(waits_for_a_lock(leased));
      return {};
    }));
    EXPECT_EQ(code(leased.get()), Code::kConflict) << by_name;
    EXPECT_EQ(number("SELECT count(*) FROM utxo_leases"), 0);
  }
}

// Beside those who lease by name: nobody gets a coin that another has, and whoever asks for no more
// than there is gets it.
TEST_P(Select, ManyConcurrentSelects) {  // W8
  constexpr int kSelectThreads = 8;
  std::vector<MadeTx> coins;
  coins.reserve(std::size_t{3} * kSelectThreads);
  for (int i = 0; i < 3 * kSelectThreads; ++i) coins.push_back(incoming(100));
  mine(coins);
  std::vector<Result<SelectedCoins>> got(kSelectThreads);
  std::vector<std::thread> threads;
  threads.reserve(kSelectThreads);
  for (int t = 0; t < kSelectThreads; ++t)
    threads.emplace_back([&, t] {
      const auto who = static_cast<std::uint8_t>(t + 1);
      got[static_cast<std::size_t>(t)] = store().select_and_lease(alice_, wanted(200, who));
      const auto at = static_cast<std::size_t>(t);
      (void)store().lease(alice_,
                          {{coin(coins[at])}, lock_id(static_cast<std::uint8_t>(100 + t)), 1'000});
    });
  for (std::thread& thread : threads) thread.join();
  std::set<chain::Outpoint> all;
  for (const auto& one : got) {
    ASSERT_TRUE(one) << one.error().message;
    EXPECT_EQ(one->amount, 200u);
    for (const Coin& coin : one->coins) EXPECT_TRUE(all.insert(coin.outpoint).second);
  }
  EXPECT_EQ(all.size(), 2u * kSelectThreads);
}

}  // namespace
}  // namespace coffer::wallet::test
