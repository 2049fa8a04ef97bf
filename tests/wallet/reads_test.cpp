// What reads say and in which order: coins and history across the borders of pages, filters with
// every order, confirmations and times.
#include <map>

#include "base/result.h"
#include "wallet/support/bulk.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

constexpr CoinOrder kOrders[] = {CoinOrder::kOldest, CoinOrder::kNewest, CoinOrder::kLargest,
                                 CoinOrder::kSmallest};

// Queries in one line.
struct Coins {
  std::vector<CoinState> states = {};
  std::optional<std::string> account = {};
  std::optional<Bytes> script = {};
  std::optional<std::uint64_t> min_amount = {}, max_amount = {};
  std::optional<std::uint64_t> min_confirmations = {}, max_confirmations = {};
  std::optional<bool> leased = {};
  bool spendable = false;

  CoinQuery query(CoinOrder order) const {
    CoinQuery made;
    made.states = states;
    made.account = account;
    made.script = script;
    made.min_amount = min_amount, made.max_amount = max_amount;
    made.min_confirmations = min_confirmations, made.max_confirmations = max_confirmations;
    made.leased = leased;
    made.spendable = spendable;
    made.order = order;
    return made;
  }
};
struct Lines {
  std::vector<TxStatus> statuses = {};
  std::optional<bool> confirmed = {};
};

class Reads : public WalletTest {
 protected:
  // Coins and transactions go by names in these stories.
  const MadeTx& named(const std::string& name, const MadeTx& made) {
    names_[made.id] = name;
    return made_.emplace(name, made).first->second;
  }
  std::string name_of(const Hash256& id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? "?" : found->second;
  }
  const MadeTx& operator[](const std::string& name) const { return made_.at(name); }

  // All pages of so many lines, one name after the other. Only the last page may be short.
  template <typename Query, typename Read, typename Name>
  std::string walk(Query query, std::size_t page_size, Read read, Name name) {
    std::string all;
    query.page = {page_size, ""};
    for (int pages = 0; pages < 100; ++pages) {
      const auto page = read(query);
      ok(page);
      if (!page) return "an error";
      for (const auto& item : page->items) all += (all.empty() ? "" : " ") + name(item);
      if (page->cursor.empty()) return all;
      EXPECT_EQ(page->items.size(), page_size);
      query.page.cursor = page->cursor;
    }
    return all + " and no end";
  }
  std::string coins(const CoinQuery& query, std::size_t page_size) {
    return walk(
        query, page_size, [&](const CoinQuery& asked) { return store().coins(alice_, asked); },
        [&](const Coin& found) { return name_of(found.outpoint.tx); });
  }
  std::string history(const Lines& lines, std::size_t page_size) {
    HistoryQuery query;
    query.statuses = lines.statuses;
    query.confirmed = lines.confirmed;
    return walk(
        query, page_size, [&](const HistoryQuery& asked) { return store().history(alice_, asked); },
        [&](const HistoryEntry& entry) { return name_of(entry.tx); });
  }
  HistoryEntry entry(const std::string& name) {
    const auto found = store().transaction(alice_, (*this)[name].id);
    ok(found);
    return found ? found->entry : HistoryEntry{};
  }

  // Seven coins, with equal amounts, two accounts, and one to six confirmations or none. The names
  // are in the order in which the wallet met them.
  void seven_coins() {
    ImportOptions savings;
    savings.account = "savings";
    ok(store().import_script(alice_, script(5), savings));
    mine({named("a", incoming(300)), named("b", incoming(100, 5))});
    mine({named("c", incoming(200)), named("d", incoming(100))});
    mine_empty(3);
    mine({named("e", incoming(900, 2))});
    mine({named("f", incoming(200, 5))});
    see(named("g", incoming(50)));
    mine({tx({coin((*this)["e"])}, {{99, 800}})});  // spent: in none of the lists
  }
  std::string in_order(CoinOrder order) const {
    switch (order) {
      case CoinOrder::kOldest: return "a b c d f g";
      case CoinOrder::kNewest: return "g f d c b a";
      case CoinOrder::kLargest: return "a f c d b g";
      case CoinOrder::kSmallest: break;
    }
    return "g b d c f a";
  }
  // Those of the list that are among these letters.
  static std::string only(const std::string& list, std::string_view letters) {
    std::string kept;
    for (const char name : list)
      if (letters.find(name) != std::string_view::npos)
        kept += (kept.empty() ? "" : " ") + std::string(1, name);
    return kept;
  }
  // In every order, with every size of a page.
  void expect_coins(const Coins& asked, std::string_view letters) {
    for (const CoinOrder order : kOrders)
      for (const std::size_t size : {1u, 2u, 3u, 100u}) {
        SCOPED_TRACE(fmt::format("order {}, pages of {}", static_cast<int>(order), size));
        EXPECT_EQ(coins(asked.query(order), size), only(in_order(order), letters));
      }
  }

 private:
  std::map<Hash256, std::string> names_;
  std::map<std::string, MadeTx> made_;
};
COFFER_ON_BOTH_ENGINES(Reads);

TEST_P(Reads, CoinOrderAcrossPages) {
  seven_coins();
  expect_coins({}, "abcdfg");
}

TEST_P(Reads, CoinsByAccountOrScript) {
  seven_coins();
  expect_coins({.account = "savings"}, "bf");
  expect_coins({.account = "default"}, "acdg");
  expect_coins({.script = script(5)}, "bf");
  expect_coins({.script = script(1)}, "acdg");
  expect_coins({.account = "default", .script = script(5)}, "");
}

TEST_P(Reads, CoinsByAmountRange) {
  seven_coins();
  expect_coins({.min_amount = 100}, "abcdf");
  expect_coins({.min_amount = 101}, "acf");
  expect_coins({.max_amount = 200}, "bcdfg");
  expect_coins({.max_amount = 199}, "bdg");
  expect_coins({.min_amount = 100, .max_amount = 200}, "bcdf");
  expect_coins({.account = "savings", .min_amount = 101}, "f");
  expect_coins({.min_amount = 301}, "");
}

TEST_P(Reads, CoinsByConfirmationRange) {
  seven_coins();
  const std::map<std::string, std::uint64_t> expected = {{"a", 8}, {"b", 8}, {"c", 7},
                                                         {"d", 7}, {"f", 2}, {"g", 0}};
  for (const auto& [name, confirmations] : expected)
    EXPECT_EQ(store().coin(alice_, coin((*this)[name]))->confirmations, confirmations) << name;
  expect_coins({.min_confirmations = 0}, "abcdfg");
  expect_coins({.min_confirmations = 1}, "abcdf");
  expect_coins({.min_confirmations = 7}, "abcd");
  expect_coins({.min_confirmations = 8}, "ab");
  expect_coins({.min_confirmations = 9}, "");
  expect_coins({.max_confirmations = 0}, "g");
  expect_coins({.max_confirmations = 7}, "cdfg");
  expect_coins({.min_confirmations = 2, .max_confirmations = 7}, "cdf");
  expect_coins({.max_amount = 200, .min_confirmations = 7}, "bcd");
}

TEST_P(Reads, CoinsByLeaseAndState) {
  seven_coins();
  ok(store().lease(alice_, {{coin((*this)["c"]), coin((*this)["g"])}, lock_id(1), 1'000}));
  expect_coins({.leased = true}, "cg");
  expect_coins({.leased = false}, "abdf");
  expect_coins({.spendable = true}, "abdf");
  expect_coins({.states = {CoinState::kUnconfirmed}}, "g");
  expect_coins({.states = {CoinState::kConfirmed}, .min_amount = 200}, "acf");
  clock().advance_ms(1'000);
  expect_coins({.leased = true}, "");
  expect_coins({.spendable = true}, "abcdf");
  EXPECT_EQ(coins(Coins{.states = {CoinState::kSpent}}.query(CoinOrder::kOldest), 1), "e");
}

TEST_P(Reads, CursorOfOtherOrderIsRefused) {
  seven_coins();
  CoinQuery query;
  query.page.count = 2;
  const auto page = store().coins(alice_, query);
  ASSERT_TRUE(page);
  query.page.cursor = page->cursor;
  query.order = CoinOrder::kLargest;
  EXPECT_EQ(code(store().coins(alice_, query)), Code::kInvalidInput);
}

TEST_P(Reads, NewCoinBetweenPagesShiftsNothing) {
  seven_coins();
  CoinQuery query;
  query.order = CoinOrder::kLargest;
  query.page.count = 2;
  auto page = store().coins(alice_, query);
  ASSERT_TRUE(page);
  EXPECT_EQ(name_of(page->items[1].outpoint.tx), "f");
  see(named("h", incoming(1'000)));          // before the border
  see(named("i", incoming(150)));            // after it
  see(tx({coin((*this)["d"])}, {{99, 1}}));  // one that was to come
  query.page.cursor = page->cursor;
  query.page.count = 100;
  page = store().coins(alice_, query);
  ASSERT_TRUE(page);
  std::string rest;
  for (const Coin& found : page->items) rest += name_of(found.outpoint.tx);
  EXPECT_EQ(rest, "cibg");
}

// E11: a page looks at 10,000 coins and not many more, is short then, and goes on at its cursor.
TEST_P(Reads, CoinPageIsShortAfterScanLimit) {
  const MadeTx low = named("low", incoming(1));
  mine({low});
  std::vector<BulkTx> many;
  // In several commits: PostgreSQL keeps every version of a sum that one commit makes.
  for (std::uint32_t i = 0; i < 70; ++i) {
    many.push_back({tx({foreign(5'000 + i)}, std::vector<To>(200, To{1, 10 + i}))});
    if (i % 5 < 4) continue;
    ok(BulkLoad(*engine_, alice_).run(many));
    many.clear();
  }
  const MadeTx high = named("high", incoming(1'000'000));
  mine({high});
  ASSERT_EQ(balance().coins, 14'002u);
  // The many wait for a block: by age they are the newest.
  const std::map<CoinOrder, std::pair<std::string, std::string>> pages = {
      {CoinOrder::kOldest, {"low high ", ""}},
      {CoinOrder::kNewest, {"", "high low "}},
      {CoinOrder::kLargest, {"high ", "low "}},
      {CoinOrder::kSmallest, {"low ", "high "}}};
  for (const auto& [order, expected] : pages) {
    SCOPED_TRACE(static_cast<int>(order));
    CoinQuery query;
    query.order = order;
    query.min_confirmations = 1;
    query.page.count = 10;
    const auto page = [&] {
      const auto found = store().coins(alice_, query);
      ok(found);
      std::string names;
      for (const Coin& one : found->items) names += name_of(one.outpoint.tx) + " ";
      query.page.cursor = found->cursor;
      return names;
    };
    EXPECT_EQ(page(), expected.first);
    ASSERT_FALSE(query.page.cursor.empty());
    EXPECT_EQ(page(), expected.second);
    EXPECT_TRUE(query.page.cursor.empty());
  }
}

TEST_P(Reads, HistoryIsNewestFirstAcrossPages) {
  mine({named("a", incoming()), named("b", incoming())});
  mine_empty(2);
  const MadeTx money = named("c", incoming());
  mine({money});
  see(named("d", incoming()));
  const MadeTx slow = named("e", tx({coin(money)}, {{1, 90}}));
  see(slow);
  see(named("f", tx({coin(money)}, {{1, 80}})));  // replaces it
  ok(record_pending(named("g", tx({coin((*this)["a"])}, {{99, 1}}))));
  mine({named("h", incoming()), (*this)["d"]});  // met before, confirmed now
  for (const std::size_t size : {1u, 2u, 3u, 4u, 100u}) {
    SCOPED_TRACE(size);
    EXPECT_EQ(history({}, size), "g f d h e c b a");  // e was met when c was the newest
    EXPECT_EQ(history({.confirmed = true}, size), "d h c b a");
    EXPECT_EQ(history({.confirmed = false}, size), "g f e");
    EXPECT_EQ(history({.statuses = {TxStatus::kPublished}}, size), "f d h c b a");
    EXPECT_EQ(history({.statuses = {TxStatus::kReplaced, TxStatus::kPending}}, size), "g e");
    EXPECT_EQ(history({.statuses = {TxStatus::kFailed}}, size), "");
  }
  roll_back(1);
  EXPECT_EQ(history({}, 3), "h g f d e c b a");
}

// A person who says that something is in a block need not know where in it.
TEST_P(Reads, HistoryWithEqualBlockIndex) {
  mine({named("a", incoming())});
  RecordOptions somewhere;
  somewhere.block = BlockRef{0, chain_[0]->hash, 0, 7};
  for (const std::string name : {"b", "c", "d", "e"})
    ok(record(named(name, incoming()), somewhere));
  mine({named("f", incoming())});
  for (const std::size_t size : {1u, 2u, 3u, 100u}) EXPECT_EQ(history({}, size), "f e d c b a");
}

TEST_P(Reads, HistoryPageIsShortAfterScanLimit) {
  std::vector<BulkTx> many = {{named("failed", incoming()), TxStatus::kFailed}};
  for (int i = 0; i < 13'000; ++i) many.push_back({incoming(1, 99)});
  ok(BulkLoad(*engine_, alice_).run(many));
  HistoryQuery query;
  query.statuses = {TxStatus::kFailed};
  const auto first = store().history(alice_, query);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->items.empty());
  ASSERT_FALSE(first->cursor.empty());
  query.page.cursor = first->cursor;
  const auto second = store().history(alice_, query);
  ASSERT_TRUE(second) << second.error().message;
  ASSERT_EQ(second->items.size(), 1u);
  EXPECT_EQ(name_of(second->items[0].tx), "failed");
  EXPECT_TRUE(second->cursor.empty());
}

TEST_P(Reads, ConfirmationsAndTimes) {
  const std::int64_t start = clock().unix_ms();
  mine_empty(2);
  const MadeTx money = named("money", incoming(100));
  see(money);
  EXPECT_EQ(entry("money").received_ms, start);
  EXPECT_EQ(entry("money").confirmations, 0u);
  EXPECT_FALSE(entry("money").height);
  EXPECT_FALSE(entry("money").block_time_s);
  clock().advance_ms(5'000);
  mine({money, named("other", incoming(7))});
  EXPECT_EQ(entry("money").received_ms, start);  // when it was met, not when it was mined
  EXPECT_EQ(entry("other").received_ms, start + 5'000);
  EXPECT_EQ(entry("money").height, 2u);
  EXPECT_EQ(entry("money").block_time_s, 1'600'000'000 + 600 * 2);
  EXPECT_EQ(entry("money").confirmations, 1u);
  mine_empty(9);
  EXPECT_EQ(entry("money").confirmations, 10u);
  EXPECT_EQ(store().coin(alice_, coin(money))->confirmations, 10u);
  EXPECT_EQ(store().coin(alice_, coin(money))->height, 2u);
  EXPECT_EQ(balance().tip_height, 11);
  roll_back(9);
  EXPECT_EQ(entry("money").confirmations, 1u);
  clock().advance_ms(5'000);
  roll_back(1);
  EXPECT_EQ(entry("money").confirmations, 0u);
  EXPECT_FALSE(entry("money").block_time_s);
  EXPECT_EQ(entry("money").received_ms, start);
  EXPECT_EQ(store().coin(alice_, coin(money))->confirmations, 0u);
  mine();
  mine({money});
  EXPECT_EQ(entry("money").block_time_s, 1'600'000'000 + 600 * 3);
}

TEST_P(Reads, AmountsAndFee) {
  const MadeTx one = named("one", incoming(100)), two = named("two", incoming(50, 2));
  mine({one, two});
  const MadeTx payment = named("payment", tx({coin(one), coin(two)}, {{99, 60}, {1, 70}}));
  see(payment);
  const MadeTx shared = named("shared", tx({coin(payment, 1), foreign(9)}, {{2, 40}}));
  see(shared);
  EXPECT_EQ(entry("one").received, 100u);
  EXPECT_EQ(entry("one").sent, 0u);
  EXPECT_FALSE(entry("one").fee);  // another's inputs
  EXPECT_EQ(entry("payment").sent, 150u);
  EXPECT_EQ(entry("payment").received, 70u);
  EXPECT_EQ(entry("payment").fee, 20u);
  EXPECT_EQ(entry("shared").sent, 70u);
  EXPECT_EQ(entry("shared").received, 40u);
  EXPECT_FALSE(entry("shared").fee);
}

}  // namespace
}  // namespace coffer::wallet::test
