// Balances of the past, statements, lists, supply and audit.
#include "base/random.h"
#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kDayMs;
using village::kNow;
using village::outcome;

class TokenReads : public village::VillageTest {
 protected:
  template <typename Item, typename Read>
  static std::vector<Item> every(std::size_t count, Read read) {
    std::vector<Item> items;
    PageOptions page{.count = count};
    for (int pages = 0; pages < 10'000; ++pages) {
      Result<Page<Item>> part = read(page);
      if (!part) {
        ADD_FAILURE() << part.error().message;
        return items;
      }
      EXPECT_LE(part->items.size(), count);
      items.insert(items.end(), part->items.begin(), part->items.end());
      if (part->cursor.empty()) return items;
      page.cursor = part->cursor;
    }
    ADD_FAILURE() << "it does not end";
    return items;
  }
  std::int64_t balance_at(const Uuid& wallet, std::int64_t at_ms) {
    const auto balance = store().balance_at(wallet, at_ms);
    EXPECT_TRUE(balance) << balance.error().message;
    return balance.value_or(-1);
  }
  std::int64_t balance(const Uuid& wallet) {
    const auto found = store().find_wallet(wallet);
    EXPECT_TRUE(found && *found);
    return found && *found ? (*found)->balance : -1;
  }

  struct Booked {
    std::int64_t at_ms;
    Uuid from, to;
    std::int64_t amount;
  };
  // Transfers between three wallets, often at the same time.
  std::vector<Booked> make_random_history() {
    wallets_ = {pool_, make_user("alice").wallet, make_user("bob").wallet};
    std::vector<Booked> booked = {{kNow, Uuid{}, pool_, 10'000}};
    Rng rng(3);
    for (int i = 0; i < 120; ++i) {
      advance(static_cast<std::int64_t>(rng.below(3)));
      const Uuid &from = wallets_[rng.below(3)], &to = wallets_[rng.below(3)];
      const auto amount = static_cast<std::int64_t>(rng.between(1, 200));
      if (from == to || balance(from) < amount) continue;
      // What the client says does not matter here.
      move(from, to, amount, now() - static_cast<std::int64_t>(rng.below(1'000)));
      booked.push_back({now(), from, to, amount});
    }
    return booked;
  }

  std::vector<Uuid> wallets_;
};
COFFER_ON_EVERY_ENGINE(TokenReads);

// Every balance of the past, compared with the sum of what was booked until then.
TEST_P(TokenReads, BalancesOfThePastAreTheSumOfWhatWasBooked) {
  const auto booked = make_random_history();
  for (std::int64_t at = kNow - 2; at <= now() + 2; ++at)
    for (const Uuid& wallet : wallets_) {
      std::int64_t sum = 0;
      for (const Booked& each : booked) {
        if (each.at_ms > at) continue;
        if (each.to == wallet) sum += each.amount;
        if (each.from == wallet) sum -= each.amount;
      }
      ASSERT_EQ(balance_at(wallet, at), sum) << at - kNow;
    }
  EXPECT_EQ(balance_at(pool_, INT64_MIN), 0);
  EXPECT_EQ(balance_at(pool_, INT64_MAX), balance(pool_));
  EXPECT_EQ(outcome(store().balance_at(id_of(99), kNow)), "not_found wallet_not_found");
}

TEST_P(TokenReads, StatementsTellTheSameAsBalancesAndHistory) {
  (void)make_random_history();
  for (const Uuid& wallet : wallets_)
    for (const std::size_t count : {1u, 7u, 1'000u}) {
      std::int64_t running = balance_at(wallet, kNow + 19);
      std::uint64_t last_version = 0;
      std::size_t lines = 0;
      Store::StatementQuery query{.wallet = wallet, .from_ms = kNow + 20, .to_ms = kNow + 60};
      query.page.count = count;
      for (bool more = true; more;) {
        const auto statement = store().statement(query);
        ASSERT_TRUE(statement) << statement.error().message;
        ASSERT_EQ(statement->opening_balance, running);
        for (const StatementLine& line : statement->lines.items) {
          running += line.delta;
          ASSERT_EQ(line.balance, running);
          ASSERT_TRUE(last_version == 0 || line.version == last_version + 1);
          last_version = line.version;
          const auto one = store().find_transaction(line.transaction);
          ASSERT_TRUE(one && *one);
          ASSERT_EQ(line.counterparty, (*one)->from == wallet ? (*one)->to : (*one)->from);
          ASSERT_EQ(line.counterparty_name,
                    (*one)->from == wallet ? (*one)->to_name : (*one)->from_name);
          ASSERT_EQ(line.delta, (*one)->from == wallet ? -(*one)->amount : (*one)->amount);
          ++lines;
        }
        query.page.cursor = statement->lines.cursor;
        more = !query.page.cursor.empty();
      }
      EXPECT_EQ(running, balance_at(wallet, kNow + 59));
      EXPECT_EQ(static_cast<std::int64_t>(lines),
                number(raw("SELECT count(*) FROM @wallet_entries WHERE wallet_id = " +
                           id_text(wallet) + " AND booked_at >= $1 AND booked_at < $2"),
                       {kNow + 20, kNow + 60}));
      EXPECT_GT(lines, 3u);
    }
}

TEST_P(TokenReads, StatementsWithoutLinesStillOpenWithABalance) {
  const User alice = make_user("alice");
  advance(10);
  move(pool_, alice.wallet, 70);
  const auto before = store().statement({.wallet = alice.wallet, .from_ms = 0, .to_ms = kNow});
  ASSERT_TRUE(before);
  EXPECT_EQ(before->opening_balance, 0);
  EXPECT_TRUE(before->lines.items.empty());
  const auto after =
      store().statement({.wallet = alice.wallet, .from_ms = kNow + 11, .to_ms = INT64_MAX});
  ASSERT_TRUE(after);
  EXPECT_EQ(after->opening_balance, 70);
  const auto issued = store().statement({.wallet = pool_, .from_ms = INT64_MIN, .to_ms = kNow + 1});
  ASSERT_TRUE(issued);
  ASSERT_EQ(issued->lines.items.size(), 1u);
  EXPECT_EQ(issued->lines.items[0].counterparty, pool_);
  EXPECT_EQ(issued->lines.items[0].delta, 10'000);
  EXPECT_EQ(outcome(store().statement({.wallet = id_of(99), .from_ms = 0, .to_ms = kNow})),
            "not_found wallet_not_found");
  EXPECT_EQ(outcome(store().statement({.wallet = pool_, .page = {.count = 0}})), "invalid_input");
  EXPECT_EQ(outcome(store().statement({.wallet = pool_, .page = {.cursor = "zz"}})),
            "invalid_input");
}

TEST_P(TokenReads, UsersAreListedByNameAndFoundByIt) {
  std::vector<std::pair<std::string, Uuid>> expected;
  for (int i = 0; i < 40; ++i) {
    const std::string name = fmt::format("{}_{}", i % 3 == 0 ? "Same" : "user", i % 3 == 0 ? 0 : i);
    const User user = make_user(name);
    if (i % 8 == 7) {
      ASSERT_TRUE(store().delete_user(user.id, operator_));
    } else {
      expected.emplace_back(name, user.id);
    }
  }
  std::ranges::sort(expected);
  const auto list = [&](Store::UserQuery query, std::size_t count) {
    return every<User>(count, [&](const PageOptions& page) {
      query.page = page;
      return store().users(query);
    });
  };
  for (const std::size_t count : {1u, 3u, 100u}) {
    std::vector<std::pair<std::string, Uuid>> found;
    for (const User& user : list({}, count)) found.emplace_back(user.name, user.id);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(list({.with_deleted = true}, count).size(), 40u);
    const auto same = list({.name = "Same_0"}, count);
    EXPECT_EQ(static_cast<std::ptrdiff_t>(same.size()),
              std::ranges::count(expected, "Same_0", [](const auto& each) { return each.first; }));
    for (const User& user : same) EXPECT_EQ(user.name, "Same_0");
    EXPECT_EQ(list({.name = "user_7"}, count).size(), 0u);
    EXPECT_EQ(list({.name = "user_7", .with_deleted = true}, count).size(), 1u);
    EXPECT_EQ(list({.name = "nobody"}, count).size(), 0u);
  }
  EXPECT_EQ(outcome(store().users({.name = "no such name"})), "invalid_input");
  EXPECT_EQ(outcome(store().users({.page = {.count = 0}})), "invalid_input");
  EXPECT_EQ(*store().find_user(id_of(1)), std::nullopt);
}

TEST_P(TokenReads, WalletsAreListedWithTheirOwners) {
  const User alice = make_user("alice"), bob = make_user("bob");
  ASSERT_TRUE(execute(raw("INSERT INTO @wallets (id, created_at, updated_at) VALUES (" +
                          id_text(id_of(5)) + ", $1, $1)"),
                      {kNow}));
  ASSERT_TRUE(store().delete_user(bob.id, operator_));
  move(pool_, alice.wallet, 100);
  ASSERT_TRUE(execute(raw("INSERT INTO @holds (id, wallet_id, to_wallet_id, amount, created_by,"
                          " created_at, expires_at) VALUES (" +
                          id_text(id_of(6)) + ", " + id_text(alice.wallet) + ", " + id_text(pool_) +
                          ", 40, 'user:alice', $1, $2)"),
                      {now(), now() + 1'000}));
  for (const std::size_t count : {1u, 2u, 100u}) {
    const auto all =
        every<Wallet>(count, [&](const PageOptions& page) { return store().wallets(page); });
    ASSERT_EQ(all.size(), 4u);
    EXPECT_TRUE(std::ranges::is_sorted(all, {}, &Wallet::id));
    for (const Wallet& wallet : all) {
      const auto one = store().find_wallet(wallet.id);
      ASSERT_TRUE(one && *one);
      EXPECT_EQ((*one)->owner_name, wallet.owner_name);
      EXPECT_EQ((*one)->balance, wallet.balance);
    }
    const auto& orphan = *std::ranges::find(all, id_of(5), &Wallet::id);
    EXPECT_EQ(orphan.owner_type, std::nullopt);
    EXPECT_EQ(orphan.owner_name, "");
    const auto& rich = *std::ranges::find(all, alice.wallet, &Wallet::id);
    EXPECT_EQ(rich.held, 40);
    EXPECT_EQ(rich.open_holds, 1);
    EXPECT_EQ(rich.available(), 60);
    const auto& gone = *std::ranges::find(all, bob.wallet, &Wallet::id);
    EXPECT_EQ(gone.owner_deleted_at_ms, kNow);
    EXPECT_EQ(gone.owner_name, "bob");
  }
  EXPECT_EQ(*store().find_wallet(id_of(99)), std::nullopt);
}

// T5: the first four add up to the issuance.
TEST_P(TokenReads, SupplyTellsWhereAllTokensAre) {
  const User alice = make_user("alice"), bob = make_user("bob");
  ASSERT_TRUE(execute(raw("INSERT INTO @wallets (id, created_at, updated_at) VALUES (" +
                          id_text(id_of(5)) + ", $1, $1)"),
                      {kNow}));
  move(pool_, alice.wallet, 1'000);
  move(pool_, bob.wallet, 200);
  move(pool_, id_of(5), 30);
  ASSERT_TRUE(store().delete_user(bob.id, operator_));
  const auto supply = store().supply();
  ASSERT_TRUE(supply) << supply.error().message;
  EXPECT_EQ(supply->circulation, 1'000);
  EXPECT_EQ(supply->pool, 8'770);
  EXPECT_EQ(supply->deleted_users, 200);
  EXPECT_EQ(supply->ownerless, 30);
  EXPECT_EQ(supply->issuance, 10'000);
}

TEST_P(TokenReads, SupplyOfAllThatCanBeIssued) {
  move(pool_, pool_, INT64_MAX - 10'000);
  EXPECT_EQ(store().supply()->issuance, INT64_MAX);
  EXPECT_EQ(store().supply()->pool, INT64_MAX);
  EXPECT_EQ(balance(pool_), INT64_MAX);
  EXPECT_TRUE(store().check()->is_consistent);
}

TEST_P(TokenReads, StatisticsAreAsOldAsTheirRefresh) {
  const auto first = store().refresh_statistics();
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->issuance, 10'000);
  EXPECT_EQ(first->pool, 10'000);
  EXPECT_EQ(first->transactions, 1);
  EXPECT_EQ(first->updated_at_ms, kNow);
  const User alice = make_user("alice");
  move(pool_, alice.wallet, 10);
  advance(5);
  EXPECT_EQ((*store().statistics())->users, 0);
  const auto second = store().refresh_statistics();
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_EQ(second->users, 1);
  EXPECT_EQ(second->circulation, 10);
  EXPECT_EQ(second->pool, 9'990);
  EXPECT_EQ(second->transactions, 2);
  EXPECT_EQ((*store().statistics())->updated_at_ms, kNow + 5);
}

// A refresh goes on while somebody else writes, and writers while it reads.
TEST_P(TokenReads, RefreshOfStatisticsDoesNotWaitForWriters) {
  if (is_sqlite()) GTEST_SKIP() << "one writer there: only the row is written, in an instant";
  const User alice = make_user("alice");
  auto other = open();
  auto connection = other->acquire(sql::Access::kWrite);
  ASSERT_TRUE(connection);
  auto transaction = connection->begin();
  ASSERT_TRUE(transaction);
  ASSERT_TRUE(
      transaction->execute(raw("INSERT INTO @transactions VALUES (" + id_text(new_id()) + ", " +
                               id_text(pool_) + ", " + id_text(alice.wallet) + ", 10, 1, $1)"),
                           {kNow}));
  const auto refreshed = store().refresh_statistics();
  ASSERT_TRUE(refreshed) << refreshed.error().message;
  EXPECT_EQ(refreshed->transactions, 1);
  ASSERT_TRUE(transaction->commit());
  EXPECT_EQ(store().refresh_statistics()->transactions, 2);
}

TEST_P(TokenReads, AuditIsReadNewestFirst) {
  for (int i = 0; i < 25; ++i) {
    make_user(fmt::format("user_{}", i));
    if (i % 4 == 0) advance(1);  // many at one time
  }
  for (const std::size_t count : {1u, 4u, 1'000u}) {
    const auto all = every<AuditEntry>(
        count, [&](const PageOptions& page) { return store().audit({.page = page}); });
    EXPECT_EQ(all.size(), 26u);
    EXPECT_TRUE(std::ranges::is_sorted(all, std::greater(), [](const AuditEntry& each) {
      return std::pair(each.at_ms, each.id);
    }));
    const auto some = every<AuditEntry>(count, [&](const PageOptions& page) {
      return store().audit({.from_ms = kNow + 1, .to_ms = kNow + 3, .page = page});
    });
    EXPECT_EQ(some.size(), 8u);
    for (const AuditEntry& each : some)
      EXPECT_TRUE(each.at_ms == kNow + 1 || each.at_ms == kNow + 2);
  }
  EXPECT_EQ(outcome(store().audit({.page = {.count = kMaxPage + 1}})), "invalid_input");
}

}  // namespace
}  // namespace coffer::token
