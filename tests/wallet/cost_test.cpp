// What the wallet's statements cost (W9): history does not slow it down.
#include "base/result.h"
#include "wallet/support/cost_test_base.h"

namespace coffer::wallet::test {
namespace {

class Cost : public CostTest {};
COFFER_ON_BOTH_ENGINES(Cost);

// By what it is: first before, then with ten times the history.
using Costs = std::map<std::string, std::int64_t[2]>;

TEST_P(Cost, ReadsAreIndependentOfHistory) {  // W9
  Costs cost;
  for (const std::size_t size : {0u, 1u}) {
    (void)make_large_wallet(1'000, size == 0 ? 300 : 3'000);
    // The newest pages of the history hold the same in both, so that only what is below differs.
    std::vector<MadeTx> newest;
    newest.reserve(220);
    for (int i = 0; i < 220; ++i) newest.push_back(incoming(700, 2));
    mine(newest);
    cost["balance"][size] = work([&] { EXPECT_EQ(balance().coins, 1'220u); });
    cost["balance of an account"][size] =
        work([&] { EXPECT_EQ(balance({}, {.account = "default"}).coins, 1'220u); });
    cost["balance of a script"][size] =
        work([&] { EXPECT_EQ(balance({}, {.script = script(1)}).coins, 1'000u); });
    const auto page = [&](CoinQuery& query) {
      const auto found = store().coins(alice_, query);
      ok(found);
      EXPECT_EQ(found->items.size(), 100u);
      return found->cursor;
    };
    const std::pair<CoinOrder, std::string> orders[] = {{CoinOrder::kOldest, "oldest"},
                                                        {CoinOrder::kNewest, "newest"},
                                                        {CoinOrder::kLargest, "largest"},
                                                        {CoinOrder::kSmallest, "smallest"}};
    for (const auto& [order, name] : orders)
      for (const std::string kind : {"", ", spendable", ", of a script"}) {
        CoinQuery query;
        query.order = order;
        query.spendable = kind == ", spendable";
        if (kind == ", of a script") query.script = script(1);
        cost["coins, " + name + kind][size] = work([&] { (void)page(query); });
        query.page.cursor = page(query);
        cost["coins, " + name + kind + ", second page"][size] = work([&] { (void)page(query); });
      }
    HistoryQuery history;
    for (const std::string name : {"history", "history, second page"}) {
      std::string cursor;
      cost[name][size] = work([&] {
        const auto found = store().history(alice_, history);
        ok(found);
        EXPECT_EQ(found->items.size(), 100u);
        cursor = found->cursor;
      });
      history.page.cursor = cursor;
    }
    cost["one transaction"][size] =
        work([&] { ok(store().transaction(alice_, newest.front().id)); });
  }
  expect_a_tenth_at_most(cost);
}

TEST_P(Cost, WritesAreIndependentOfHistory) {  // W9
  Costs cost;
  for (const std::size_t size : {0u, 1u}) {
    const LargeWallet& large = make_large_wallet(1'000, size == 0 ? 300 : 3'000);
    std::vector<chain::Outpoint> unspent;
    for (const BulkTx& one : large.txs)
      if (state(coin(one.tx)) == "confirmed") unspent.push_back(coin(one.tx));
    // Each time another coin, as in life.
    const auto next = [&] {
      const chain::Outpoint taken = unspent.back();
      unspent.pop_back();
      return taken;
    };
    std::vector<chain::Outpoint> held;
    cost["lease"][size] = work([&] {
      held = {next()};
      ok(store().lease(alice_, {held, lock_id(1), 1'000}));
    });
    cost["renew"][size] = work([&] { ok(store().renew(alice_, {held, lock_id(1), 2'000})); });
    cost["release"][size] = work([&] { ok(store().release(alice_, held, lock_id(1))); });
    LeaseSelection some;
    some.amount = 2'500;
    some.duration_ms = 1'000;
    cost["select"][size] = work([&] {
      some.lock_id = lock_id(static_cast<std::uint8_t>(some.lock_id.data()[0] + 1));
      ok(store().select_and_lease(alice_, some));
    });
    cost["select, held"][size] = work([&] { ok(store().select_and_lease(alice_, some)); });
    cost["a payment seen"][size] = work([&] { see(incoming(900)); });
    cost["a spend seen"][size] = work([&] { see(tx({next()}, {{1, 900}})); });
    cost["a spend recorded"][size] = work([&] { ok(record(tx({next()}, {{1, 900}}))); });
    cost["a block of two"][size] = work([&] { mine({incoming(900), tx({next()}, {{1, 900}})}); });
  }
  expect_a_tenth_at_most(cost);
}

// Those that wait for a block have one position, and so have those that became invalid at one tip.
TEST_P(Cost, PageAmongEqualPositionsCostsAsFirst) {  // E11
  for (const TxStatus status : {TxStatus::kFailed, TxStatus::kPublished}) {
    SCOPED_TRACE(to_string(status));
    (void)make_large_wallet(10, 10);
    std::vector<BulkTx> many;
    many.reserve(3'000);
    for (int i = 0; i < 3'000; ++i) many.push_back({incoming(1), status});
    ok(BulkLoad(*engine_, alice_).run(many));
    for (const std::optional<bool> confirmed : {std::optional<bool>(), std::optional(false)}) {
      HistoryQuery query;
      query.confirmed = confirmed;
      std::int64_t second = 0, last = 0;
      for (int page = 1; page < 30; ++page) {
        std::string cursor;
        const std::int64_t cost = work([&] {
          const auto found = store().history(alice_, query);
          ok(found);
          EXPECT_EQ(found->items.size(), 100u);
          cursor = found->cursor;
        });
        if (page == 2) second = cost;
        last = cost;
        query.page.cursor = cursor;
      }
      EXPECT_LE(last, second + second / 4);
    }
  }
}

// Coins of one amount, and those that wait for a block, stand side by side in their lists.
TEST_P(Cost, PageAmongEqualAmountsCostsAsSecond) {  // E11
  (void)make_large_wallet(10, 10);
  std::vector<BulkTx> many;
  many.reserve(3'000);
  for (int i = 0; i < 3'000; ++i) many.push_back({incoming(546)});
  ok(BulkLoad(*engine_, alice_).run(many));
  for (const CoinOrder order :
       {CoinOrder::kOldest, CoinOrder::kNewest, CoinOrder::kLargest, CoinOrder::kSmallest})
    for (const bool of_script : {false, true}) {
      SCOPED_TRACE(fmt::format("order {}, of a script {}", static_cast<int>(order), of_script));
      CoinQuery query;
      query.order = order;
      if (of_script) query.script = script(1);
      std::int64_t second = 0, last = 0;
      for (int page = 1; page < 30; ++page) {
        std::string cursor;
        last = work([&] {
          const auto found = store().coins(alice_, query);
          ok(found);
          EXPECT_EQ(found->items.size(), 100u);
          cursor = found->cursor;
        });
        if (page == 2) second = last;
        query.page.cursor = cursor;
      }
      EXPECT_LE(last, second + second / 4);
    }
}

// A line of the summary that is changed once a coin costs PostgreSQL the square of the coins.
TEST_P(Cost, RollbackIsLinearInCoins) {  // W11
  const auto changed_lines = [&] {
    return is_sqlite() ? 0
                       : number(
                             "SELECT n_tup_upd + n_tup_ins FROM pg_stat_user_tables"
                             " WHERE relname = 'balance_summary'");
  };
  std::int64_t cost[2] = {};
  for (const std::size_t size : {0u, 1u}) {
    (void)make_large_wallet(2'000, 200);
    const std::int64_t before = counted(), lines_before = changed_lines();
    (void)roll_back(size == 0 ? 20 : 160);
    cost[size] = counted() - before;
    // The confirmed and the unconfirmed of the account, and of its one address.
    EXPECT_LE(changed_lines() - lines_before, 4);
    EXPECT_EQ(number("SELECT coins FROM balance_summary WHERE address_id = 0"
                     " AND kind = 'unconfirmed'"),
              size == 0 ? 200 : 1'600);
  }
  EXPECT_GT(cost[0], 0);
  EXPECT_LE(cost[1], cost[0] * 8 * 5 / 4);
}

// Children that are there before their parent are looked at when it comes, and only they.
TEST_P(Cost, ManyOutputsAreLinear) {  // W9
  std::int64_t cost[2] = {};
  for (const std::size_t size : {0u, 1u}) {
    (void)make_large_wallet(10, 10);
    const std::vector<To> pays(size == 0 ? 25 : 200, To{1, 50});
    const MadeTx parent = tx({foreign(7)}, pays);
    see(tx({coin(parent, 3)}, {{1, 40}}));
    const std::int64_t before = counted();
    see(parent);
    cost[size] = counted() - before;
    EXPECT_EQ(state(coin(parent, 3)), "spent");
  }
  EXPECT_GT(cost[0], 0);
  EXPECT_LE(cost[1], cost[0] * 8 * 5 / 4) << cost[0];
}

}  // namespace
}  // namespace coffer::wallet::test
