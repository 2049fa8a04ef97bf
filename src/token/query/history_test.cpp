// Pages of the history against all of it, with many transactions at one time.
#include <map>

#include "base/random.h"
#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kNow;
using village::outcome;

class TokenHistory : public village::VillageTest {
 protected:
  void SetUp() override {
    VillageTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    for (const char* name : {"alice", "bob", "carol"}) members_.push_back(make_user(name));
    wallets_ = {pool_};
    for (const User& member : members_) wallets_.push_back(member.wallet);
    for (const User& member : members_) move(pool_, member.wallet, 1'000);
  }

  // Transfers at few different times, so that most of them are tied.
  void make_random(int count) {
    Rng rng(7);
    for (int i = 0; i < count; ++i) {
      const Uuid& from = wallets_[rng.below(wallets_.size())];
      const Uuid& to = wallets_[rng.below(wallets_.size())];
      if (from == to) continue;
      move(from, to, 1, kNow - static_cast<std::int64_t>(rng.below(5)),
           static_cast<int>(rng.between(1, 3)));
    }
  }

  // Every page, through cursors.
  std::vector<Transaction> all(HistoryQuery query) {
    std::vector<Transaction> found;
    for (int pages = 0; pages < 10'000; ++pages) {
      auto page = store().history(query);
      if (!page) {
        ADD_FAILURE() << page.error().message;
        return found;
      }
      EXPECT_LE(page->items.size(), query.page.count);
      found.insert(found.end(), page->items.begin(), page->items.end());
      if (page->cursor.empty()) return found;
      query.page.cursor = page->cursor;
    }
    ADD_FAILURE() << "it does not end";
    return found;
  }
  static std::vector<Uuid> ids(const std::vector<Transaction>& list) {
    std::vector<Uuid> ids;
    ids.reserve(list.size());
    for (const Transaction& each : list) ids.push_back(each.id);
    return ids;
  }
  // What a query must give, from everything.
  static std::vector<Uuid> chosen(std::vector<Transaction> everything, const HistoryQuery& query) {
    std::erase_if(everything, [&](const Transaction& each) {
      const bool other =
          query.counterparty && each.from != *query.counterparty && each.to != *query.counterparty;
      return (query.wallet && each.from != *query.wallet && each.to != *query.wallet) || other ||
             (query.type && each.type != *query.type) ||
             (query.from_ms && each.created_at_ms < *query.from_ms) ||
             (query.to_ms && each.created_at_ms >= *query.to_ms);
    });
    std::ranges::sort(everything, {}, [](const Transaction& each) {
      return std::pair(each.created_at_ms, each.id);
    });
    if (query.newest_first) std::ranges::reverse(everything);
    return ids(everything);
  }

  std::vector<User> members_;
  std::vector<Uuid> wallets_;
};
COFFER_ON_EVERY_ENGINE(TokenHistory);

TEST_P(TokenHistory, PagesOfEveryQueryAreCompleteAndInOrder) {
  make_random(400);
  const auto everything = all({.page = {.count = kMaxPage}});
  EXPECT_EQ(static_cast<std::int64_t>(everything.size()), count("@transactions"));
  const Uuid alice = members_[0].wallet, bob = members_[1].wallet;
  std::vector<HistoryQuery> queries = {{},
                                       {.wallet = pool_},
                                       {.wallet = alice},
                                       {.wallet = alice, .counterparty = bob},
                                       {.wallet = alice, .counterparty = alice},
                                       {.wallet = pool_, .counterparty = pool_},
                                       {.wallet = bob, .type = 2},
                                       {.wallet = bob, .counterparty = alice, .type = 3},
                                       {.type = 1},
                                       {.type = 99},
                                       {.wallet = alice, .from_ms = kNow - 3, .to_ms = kNow - 1},
                                       {.from_ms = kNow - 2},
                                       {.to_ms = kNow - 2},
                                       {.type = 2, .from_ms = kNow - 1, .to_ms = kNow},
                                       {.from_ms = kNow, .to_ms = kNow - 1},
                                       {.from_ms = INT64_MIN, .to_ms = INT64_MAX},
                                       {.from_ms = INT64_MAX, .to_ms = INT64_MIN}};
  for (HistoryQuery query : queries)
    for (const bool newest_first : {true, false})
      for (const std::size_t count : {1u, 7u, 100u}) {
        query.newest_first = newest_first;
        query.page.count = count;
        SCOPED_TRACE(fmt::format("query {}, pages of {}, newest first {}", &query - queries.data(),
                                 count, newest_first));
        auto expected = chosen(everything, query);
        if (query.counterparty == query.wallet && query.wallet)
          std::erase_if(expected, [&](const Uuid& id) {
            const auto one = std::ranges::find(everything, id, &Transaction::id);
            return !one->is_issuance();
          });
        ASSERT_EQ(ids(all(query)), expected);
      }
}

TEST_P(TokenHistory, TransactionsTellWhatStandsAboutThem) {
  const User &alice = members_[0], &bob = members_[1];
  const Uuid sent = move(alice.wallet, bob.wallet, 30);
  ASSERT_TRUE(execute(raw("INSERT INTO @transaction_details (transaction_id, memo, memo_salt,"
                          " memo_hash, actor) VALUES (" +
                          id_text(sent) + ", 'for tea', $1, $2, 'user:alice')"),
                      {Bytes(16), Bytes(32)}));
  const Uuid back = move(bob.wallet, alice.wallet, 30, 0, 7);
  ASSERT_TRUE(execute(raw("INSERT INTO @reversals (transaction_id, reversal_id, reason, actor,"
                          " created_at) VALUES (" +
                          id_text(sent) + ", " + id_text(back) + ", 'mistake', 'user:op', $1)"),
                      {now()}));
  ASSERT_TRUE(store().delete_user(bob.id, operator_));
  const auto found = store().find_transaction(sent);
  ASSERT_TRUE(found && *found);
  const Transaction& one = **found;
  EXPECT_EQ(one.id, sent);
  EXPECT_EQ(one.from, alice.wallet);
  EXPECT_EQ(one.to, bob.wallet);
  EXPECT_EQ(one.amount, 30);
  EXPECT_EQ(one.type, 1);
  EXPECT_EQ(one.created_at_ms, kNow);
  EXPECT_EQ(one.from_name, "alice");
  EXPECT_EQ(one.to_name, "bob");  // deleted, but it was bob
  EXPECT_EQ(one.memo, "for tea");
  EXPECT_EQ(one.metadata, std::nullopt);
  EXPECT_EQ(one.actor, "user:alice");
  EXPECT_EQ(one.reversed_by, back);
  EXPECT_EQ(one.reverses, std::nullopt);
  EXPECT_EQ(one.log_position, std::nullopt);
  const auto reversal = store().find_transaction(back);
  ASSERT_TRUE(reversal && *reversal);
  EXPECT_EQ((*reversal)->reverses, sent);
  EXPECT_EQ((*reversal)->type, 7);
  EXPECT_EQ((*reversal)->actor, "");
  const auto page = store().history({.wallet = pool_, .newest_first = false});
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->items.front().is_issuance() || page->items.back().is_issuance());
  EXPECT_EQ(page->items.front().from_name, "treasury");
  EXPECT_EQ(*store().find_transaction(id_of(1)), std::nullopt);
}

TEST_P(TokenHistory, WalletsWithoutHistoryAndUnknownOnesHaveEmptyPages) {
  const auto page = store().history({.wallet = id_of(99)});
  ASSERT_TRUE(page);
  EXPECT_TRUE(page->items.empty());
  EXPECT_TRUE(page->cursor.empty());
}

TEST_P(TokenHistory, BadQueriesAndCursorsAreRefused) {
  const Uuid alice = members_[0].wallet;
  EXPECT_EQ(outcome(store().history({.counterparty = alice})), "invalid_input");
  EXPECT_EQ(outcome(store().history({.type = 0})), "invalid_input");
  EXPECT_EQ(outcome(store().history({.type = 100})), "invalid_input");
  EXPECT_EQ(outcome(store().history({.page = {.count = 0}})), "invalid_input");
  EXPECT_EQ(outcome(store().history({.page = {.count = kMaxPage + 1}})), "invalid_input");
  const auto page = store().history({.wallet = pool_, .page = {.count = 1}});
  ASSERT_TRUE(page);
  const std::string cursor = page->cursor;
  ASSERT_FALSE(cursor.empty());
  EXPECT_EQ(outcome(store().history({.wallet = pool_, .page = {.count = 5, .cursor = cursor}})),
            "ok");
  // Of another list, or of this one with other filters.
  EXPECT_EQ(outcome(store().history({.wallet = alice, .page = {.cursor = cursor}})),
            "invalid_input");
  EXPECT_EQ(outcome(store().history(
                {.wallet = pool_, .newest_first = false, .page = {.cursor = cursor}})),
            "invalid_input");
  EXPECT_EQ(outcome(store().wallets({.cursor = cursor})), "invalid_input");
  EXPECT_EQ(outcome(store().users({.page = {.cursor = cursor}})), "invalid_input");
  EXPECT_EQ(outcome(store().audit({.page = {.cursor = cursor}})), "invalid_input");
  EXPECT_EQ(outcome(store().role_grants({.cursor = cursor})), "invalid_input");
  EXPECT_EQ(outcome(store().api_keys({.cursor = cursor})), "invalid_input");
  for (const std::string& bad : {std::string("x"), std::string("00"), cursor + "0",
                                 cursor.substr(2), std::string(1'000'000, 'a')})
    EXPECT_EQ(outcome(store().history({.wallet = pool_, .page = {.cursor = bad}})),
              "invalid_input");
}

// A filter that finds nothing examines a bounded number of rows for a page and goes on.
TEST_P(TokenHistory, RareRowsAreFoundThroughBoundedPages) {
  const Uuid alice = members_[0].wallet, bob = members_[1].wallet;
  move(pool_, pool_, 100'000);
  const Uuid rare = move(alice, bob, 1, kNow - 50'000, 9);
  move_many(pool_, alice, 10'100, kNow - 40'000);
  HistoryQuery query{.wallet = alice, .type = 9};
  const auto page = store().history(query);
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_TRUE(page->items.empty());
  EXPECT_FALSE(page->cursor.empty());
  EXPECT_EQ(ids(all(query)), std::vector{rare});
  query = {.wallet = alice, .counterparty = bob, .newest_first = false};
  EXPECT_EQ(ids(all(query)), std::vector{rare});
}

}  // namespace
}  // namespace coffer::token
