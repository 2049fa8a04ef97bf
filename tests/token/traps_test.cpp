// The traps T1 to T13 met through the library, alone and beside raw SQL. What raw SQL alone may do
// stands in cases/*.txt.
#include <barrier>
#include <regex>
#include <thread>

#include "base/random.h"
#include "token/account/test_village.h"

namespace coffer::token {
namespace {

using village::id_of;
using village::kDayMs;
using village::kNow;
using village::outcome;

class TokenTraps : public village::VillageTest {
 protected:
  void SetUp() override {
    options_.max_connections = 8;
    VillageTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    alice_ = make_user("alice");
    bob_ = make_user("bob");
    move(pool_, alice_.wallet, 1'000);
  }

  Transfer make_transfer(const Uuid& from, const Uuid& to, std::int64_t amount) {
    return {.id = new_id(), .from = from, .to = to, .amount = amount};
  }
  std::string send(const Uuid& from, const Uuid& to, std::int64_t amount) {
    return outcome(store().transfer(make_transfer(from, to, amount), member_));
  }
  std::int64_t balance(const Uuid& wallet) {
    const auto found = store().find_wallet(wallet);
    EXPECT_TRUE(found && *found);
    return found && *found ? (*found)->balance : -1;
  }
  void expect_consistent() {
    const auto report = store().check();
    ASSERT_TRUE(report) << report.error().message;
    EXPECT_TRUE(report->is_consistent);
    const auto supply = store().supply();
    ASSERT_TRUE(supply);
    EXPECT_EQ(supply->circulation + supply->pool + supply->deleted_users + supply->ownerless,
              supply->issuance);
  }
  std::string insert_text(const Uuid& id, const Uuid& from, const Uuid& to, std::int64_t amount) {
    return raw("INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount,"
               " transaction_type, created_at) VALUES (") +
           id_text(id) + ", " + id_text(from) + ", " + id_text(to) + ", " + std::to_string(amount) +
           ", 1, " + std::to_string(now()) + ")";
  }

  // Another person's transaction with one statement, which stays open until commit().
  class OpenTransaction {
   public:
    OpenTransaction(sql::Database& database, const std::string& text) {
      auto connection = database.acquire(sql::Access::kWrite);
      EXPECT_TRUE(connection);
      connection_.emplace(std::move(*connection));
      auto begun = connection_->begin();
      EXPECT_TRUE(begun);
      transaction_.emplace(std::move(*begun));
      const auto done = transaction_->execute(text);
      EXPECT_TRUE(done) << done.error().message;
    }
    void commit() { EXPECT_TRUE(transaction_->commit()); }

   private:
    std::optional<sql::Connection> connection_;
    std::optional<sql::Transaction> transaction_;
  };

  // What `call` answers if `text` was executed before it and is committed while it waits.
  template <typename Call>
  std::string outcome_behind(const std::string& text, Call call) {
    auto other = open();
    OpenTransaction first(*other, text);
    std::string answer;
    {
      const std::jthread waiting([&] { answer = outcome(call()); });
      wait_until_blocked();
      first.commit();
    }
    return answer;
  }
  // On PostgreSQL somebody waits for a lock. SQLite tells nobody; there the order is the same even
  // if the call comes only after the commit.
  void wait_until_blocked() {
    if (is_sqlite()) return;
    for (int i = 0; i < 1'000; ++i) {
      if (number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()"
                 " AND wait_event_type = 'Lock'") > 0)
        return;
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ADD_FAILURE() << "nobody waits";
  }

  User alice_, bob_;
};
COFFER_ON_EVERY_ENGINE(TokenTraps);

// T1: the recipe with the triggers installed moved 200 for 100, and failed here.
TEST_P(TokenTraps, WholeBalanceIsMovedOnce) {
  const auto sent = store().transfer(make_transfer(alice_.wallet, bob_.wallet, 1'000), member_);
  ASSERT_TRUE(sent) << sent.error().message;
  EXPECT_EQ(sent->balance, 0);
  EXPECT_EQ(balance(alice_.wallet), 0);
  EXPECT_EQ(balance(bob_.wallet), 1'000);
  const std::vector<Transfer> round = {make_transfer(bob_.wallet, alice_.wallet, 1'000),
                                       make_transfer(alice_.wallet, bob_.wallet, 1'000),
                                       make_transfer(bob_.wallet, pool_, 1'000)};
  const auto batch = store().batch(round, BatchMode::kAll, member_);
  ASSERT_TRUE(batch) << batch.error().message;
  EXPECT_EQ(balance(pool_), 10'000);
  expect_consistent();
}

// T1: what somebody tries to write beside the mover is refused, and the library is not confused.
TEST_P(TokenTraps, ForgedBalancesAreRefusedBetweenTransfers) {
  const std::vector<std::string> forged = {
      "UPDATE @wallets SET balance = balance + 100 WHERE id = " + id_text(bob_.wallet),
      "INSERT INTO @wallets (id, balance, created_at, updated_at) VALUES (" + id_text(id_of(77)) +
          ", 100, 1, 1)",
      "DELETE FROM @wallets WHERE id = " + id_text(alice_.wallet),
      "DELETE FROM @users WHERE id = " + id_text(alice_.id),
      "DELETE FROM @system_accounts",
      "UPDATE @transactions SET amount = 1",
      "DELETE FROM @transactions",
      "UPDATE @wallets SET id = " + id_text(id_of(78)) + " WHERE id = " + id_text(bob_.wallet),
      "UPDATE @users SET wallet_id = " + id_text(pool_) + " WHERE id = " + id_text(bob_.id)};
  for (const std::string& text : forged) {
    EXPECT_EQ(send(alice_.wallet, bob_.wallet, 10), "ok");
    EXPECT_FALSE(execute(raw(text))) << text;
  }
  const auto moved = static_cast<std::int64_t>(10 * forged.size());
  EXPECT_EQ(balance(alice_.wallet), 1'000 - moved);
  EXPECT_EQ(balance(bob_.wallet), moved);
  expect_consistent();
}

// T1 on SQLite: the same id again by raw SQL, in every form, after the library applied it.
TEST_P(TokenTraps, IdOfTheLibraryIsTakenForRawSql) {
  const Transfer transfer = make_transfer(alice_.wallet, bob_.wallet, 10);
  ASSERT_TRUE(store().transfer(transfer, member_));
  const std::string text = insert_text(transfer.id, pool_, bob_.wallet, 500);
  EXPECT_FALSE(execute(text));
  const auto nothing = execute(text + " ON CONFLICT (id) DO NOTHING");
  EXPECT_TRUE(!nothing || *nothing == 0);
  if (is_sqlite()) {
    (void)execute(std::regex_replace(text, std::regex("INSERT"), "INSERT OR IGNORE"));
    EXPECT_FALSE(execute(std::regex_replace(text, std::regex("INSERT"), "INSERT OR REPLACE")));
  }
  EXPECT_EQ(balance(bob_.wallet), 10);
  // And the other way round: the library meets an id that SQL has used.
  const Uuid typed = move(alice_.wallet, bob_.wallet, 5);
  Transfer same{.id = typed, .from = alice_.wallet, .to = bob_.wallet, .amount = 6};
  EXPECT_EQ(outcome(store().transfer(same, member_)), "conflict id_taken");
  EXPECT_EQ(balance(bob_.wallet), 15);
  expect_consistent();
}

// T2: opposing transfers by the library and by raw SQL; a deadlock would reach somebody.
TEST_P(TokenTraps, OpposingTransfersDoNotDeadlock) {
  constexpr int kEach = 25;
  move(pool_, bob_.wallet, 1'000);
  auto second = open();
  auto other_store = open_store(*second, sql::Schema::kMustBeCurrent);
  std::atomic<int> failures = 0;
  std::vector<std::vector<std::string>> typed(2);
  for (int i = 0; i < kEach; ++i) {
    typed[0].push_back(insert_text(new_id(), alice_.wallet, bob_.wallet, 3));
    typed[1].push_back(insert_text(new_id(), bob_.wallet, alice_.wallet, 3));
  }
  std::vector<std::vector<Transfer>> sent(4);
  for (std::size_t i = 0; i < sent.size(); ++i)
    for (int k = 0; k < kEach; ++k)
      sent[i].push_back(i % 2 == 0 ? make_transfer(alice_.wallet, bob_.wallet, 2)
                                   : make_transfer(bob_.wallet, alice_.wallet, 2));
  {
    std::vector<std::jthread> threads;
    threads.reserve(sent.size());
    for (std::size_t i = 0; i < sent.size(); ++i)
      threads.emplace_back([&, i] {
        Store& at = i < 2 ? store() : *other_store;
        for (const Transfer& each : sent[i])
          if (const auto done = at.transfer(each, member_); !done) {
            ++failures;
            ADD_FAILURE() << done.error().message;
          }
      });
    for (const auto& texts : typed)
      threads.emplace_back([&] {
        for (const std::string& text : texts)
          // One attempt, as a person has it: a deadlock would be told.
          if (const auto done =
                  second->run_transaction([&](sql::Transaction& sql) { return sql.execute(text); },
                                          {.max_attempts = is_sqlite() ? 10 : 1});
              !done) {
            ++failures;
            ADD_FAILURE() << done.error().message;
          }
      });
  }
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(balance(alice_.wallet), 1'000);
  EXPECT_EQ(balance(bob_.wallet), 1'000);
  expect_consistent();
}

// T5: whoever changes what a transfer asks of a wallet waits for transfers under way, and later
// transfers see it.
TEST_P(TokenTraps, OwnersChangeBeforeOrAfterATransferNeverDuring) {
  const auto deletion =
      raw("UPDATE @users SET deleted_at = " + std::to_string(kNow + 1) + " WHERE id = ");
  EXPECT_EQ(outcome_behind(insert_text(new_id(), alice_.wallet, bob_.wallet, 10),
                           [&] { return store().delete_user(alice_.id, operator_); }),
            "ok");
  EXPECT_EQ(balance(bob_.wallet), 10);
  EXPECT_EQ(send(alice_.wallet, bob_.wallet, 1), "conflict sender_deleted");
  EXPECT_EQ(send(bob_.wallet, alice_.wallet, 1), "conflict recipient_deleted");
  ASSERT_TRUE(store().reactivate_user(alice_.id, operator_));
  EXPECT_EQ(
      outcome_behind(
          deletion + id_text(alice_.id),
          [&] { return store().transfer(make_transfer(alice_.wallet, bob_.wallet, 10), member_); }),
      "conflict sender_deleted");
  EXPECT_EQ(outcome_behind(
                deletion + id_text(bob_.id),
                [&] { return store().transfer(make_transfer(pool_, bob_.wallet, 10), member_); }),
            "conflict recipient_deleted");
  ASSERT_TRUE(store().reactivate_user(bob_.id, operator_));
  EXPECT_EQ(outcome_behind(insert_text(new_id(), bob_.wallet, pool_, 10),
                           [&] { return store().freeze(bob_.wallet, operator_); }),
            "ok");
  EXPECT_EQ(balance(bob_.wallet), 0);
  EXPECT_EQ(send(pool_, bob_.wallet, 1), "conflict recipient_frozen");
  expect_consistent();
}

// T5: a trigger that only looked let a wallet become both, and mint.
TEST_P(TokenTraps, OwnerAttachedDuringAnIssuanceDoesNotMint) {
  const Uuid wallet = id_of(500);
  ASSERT_TRUE(execute(raw("INSERT INTO @wallets (id, created_at, updated_at) VALUES (" +
                          id_text(wallet) + ", 1, 1)")));
  const auto attach = [&](const std::string& table, const std::string& column, const Uuid& id) {
    return raw("INSERT INTO @" + table + " (id, wallet_id, " + column +
               ", created_at, updated_at) VALUES (" + id_text(id) + ", " + id_text(wallet) +
               ", 'both', 1, 1)");
  };
  EXPECT_EQ(outcome_behind(attach("users", "username", id_of(501)),
                           [&] { return execute(attach("system_accounts", "name", id_of(502))); }),
            "conflict TK030");
  EXPECT_EQ(send(wallet, wallet, 1'000'000), "conflict not_a_system_wallet");
  EXPECT_EQ(store().supply()->issuance, 10'000);
  EXPECT_EQ((*store().find_wallet(wallet))->owner_type, OwnerType::kUser);
  expect_consistent();
}

TEST_P(TokenTraps, FrozenWalletsAndSystemWalletsStayApart) {
  ASSERT_TRUE(store().freeze(bob_.wallet, operator_));
  EXPECT_EQ(outcome(store().freeze(pool_, operator_)), "conflict system_wallet");
  EXPECT_EQ(send(pool_, bob_.wallet, 1), "conflict recipient_frozen");
  EXPECT_EQ(send(bob_.wallet, pool_, 1), "conflict sender_frozen");
  EXPECT_EQ(send(alice_.wallet, alice_.wallet, 1), "conflict not_a_system_wallet");
  EXPECT_EQ(send(pool_, pool_, INT64_MAX), "conflict issuance_overflow");
  expect_consistent();
}

// T6: clocks of clients and of the database may differ and be set back.
TEST_P(TokenTraps, SkewedClocksDoNotStopTransfers) {
  const auto send_at = [&](std::int64_t created_at_ms) {
    Transfer transfer = make_transfer(alice_.wallet, bob_.wallet, 1);
    transfer.created_at_ms = created_at_ms;
    return outcome(store().transfer(transfer, member_));
  };
  EXPECT_EQ(send_at(kNow + kDayMs), "ok");
  EXPECT_EQ(send_at(kNow + kDayMs + 1), "invalid_input created_in_future");
  EXPECT_EQ(send_at(1), "ok");
  EXPECT_EQ(send_at(0), "invalid_input");
  for (const std::int64_t skew : {-3'600'000ll, 10ll, -7'200'000ll, 5'000ll}) {
    advance(skew);
    EXPECT_EQ(send_at(now()), "ok");
    EXPECT_EQ(outcome(store().rename_user(bob_.id, skew < 0 ? "bobby" : "bob", operator_)), "ok");
    EXPECT_EQ(outcome(store().create_user(new_id(), "newcomer", operator_)), "ok");
  }
  for (const char* table : {"wallets", "users", "system_accounts"})
    EXPECT_EQ(count(std::string("@") + table + " WHERE updated_at < created_at"), 0) << table;
  // What was booked never falls within a wallet, so balances of the past stay what they were.
  EXPECT_EQ(number(raw("SELECT count(*) FROM @wallet_entries a JOIN @wallet_entries b"
                       " ON a.wallet_id = b.wallet_id AND a.version < b.version"
                       " AND a.booked_at > b.booked_at")),
            0);
  EXPECT_EQ(store().balance_at(alice_.wallet, kNow).value_or(-1), 1'000 - 6);
  expect_consistent();
}

// T9: a refused transfer leaves nothing and is judged anew; an applied one keeps its id.
TEST_P(TokenTraps, OnlyAppliedTransfersConsumeTheirId) {
  Transfer transfer = make_transfer(bob_.wallet, alice_.wallet, 10);
  transfer.memo = "for tea";
  transfer.metadata = R"({"table":4})";
  const std::int64_t audits_before = count("@audit"), outbox = count("@log_outbox");
  EXPECT_EQ(outcome(store().transfer(transfer, member_)), "conflict insufficient_balance");
  EXPECT_EQ(*store().find_transaction(transfer.id), std::nullopt);
  EXPECT_EQ(count("@transaction_details WHERE memo IS NOT NULL"), 0);
  EXPECT_EQ(count("@audit"), audits_before);
  EXPECT_EQ(count("@log_outbox"), outbox);
  move(alice_.wallet, bob_.wallet, 100);
  const auto first = store().transfer(transfer, member_);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_FALSE(first->is_repeat);
  advance(60'000);
  const auto again = store().transfer(transfer, member_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_repeat);
  EXPECT_EQ(again->balance, first->balance);
  EXPECT_EQ(again->created_at_ms, first->created_at_ms);
  const auto changed = [&](auto change) {
    Transfer other = transfer;
    change(other);
    return outcome(store().transfer(other, member_));
  };
  EXPECT_EQ(changed([](Transfer& t) { t.amount = 11; }), "conflict id_taken");
  EXPECT_EQ(changed([](Transfer& t) { t.type = 2; }), "conflict id_taken");
  EXPECT_EQ(changed([](Transfer& t) { t.memo = "for two"; }), "conflict id_taken");
  EXPECT_EQ(changed([](Transfer& t) { t.memo.reset(); }), "conflict id_taken");
  EXPECT_EQ(changed([](Transfer& t) { t.metadata = "{}"; }), "conflict id_taken");
  EXPECT_EQ(changed([&](Transfer& t) { t.to = pool_; }), "conflict id_taken");
  EXPECT_EQ(balance(alice_.wallet), 910);
  expect_consistent();
}

// T10: a hold counts until its row says that it ended.
TEST_P(TokenTraps, OverdueHoldCountsUntilItIsEnded) {
  const Uuid id = new_id();
  const auto hold = store().open_hold(
      {.id = id, .wallet = alice_.wallet, .to = bob_.wallet, .amount = 900, .duration_ms = 1'000},
      member_);
  ASSERT_TRUE(hold) << hold.error().message;
  EXPECT_EQ(send(alice_.wallet, bob_.wallet, 101), "conflict balance_held");
  EXPECT_FALSE(execute(insert_text(new_id(), alice_.wallet, bob_.wallet, 101)));
  advance(1'000);
  EXPECT_FALSE(execute(insert_text(new_id(), alice_.wallet, bob_.wallet, 101)));
  EXPECT_EQ(outcome(store().capture_hold(id, new_id(), {}, member_)), "conflict hold_expired");
  const auto ended = store().expire_holds();
  ASSERT_TRUE(ended) << ended.error().message;
  EXPECT_EQ((*store().find_hold(id))->state, HoldState::kExpired);
  EXPECT_TRUE(execute(insert_text(new_id(), alice_.wallet, bob_.wallet, 101)));
  expect_consistent();
}

// T11: the same ids in two communities of one database are different things.
TEST_P(TokenTraps, CommunitiesDoNotSeeEachOther) {
  if (is_sqlite()) GTEST_SKIP() << "a community is a file there";
  auto town = Store::open(db(), {.community = "town", .schema = sql::Schema::kMigrate});
  ASSERT_TRUE(town) << town.error().message;
  ASSERT_TRUE((*town)->seed({.issuance = 7}, operator_));
  ASSERT_TRUE((*town)->create_user(alice_.id, "another", operator_));
  EXPECT_EQ((*store().find_user(alice_.id))->name, "alice");
  EXPECT_EQ(*(*town)->find_wallet(alice_.wallet), std::nullopt);
  EXPECT_EQ(outcome((*town)->transfer(make_transfer(alice_.wallet, bob_.wallet, 1), member_)),
            "not_found sender_not_found");
  EXPECT_EQ((*town)->supply()->issuance, 7);
  EXPECT_EQ(store().supply()->issuance, 10'000);
}

// T12: what SQL inserts and what the library sends is in the outbox, each once.
TEST_P(TokenTraps, EveryTransactionIsOnItsWayIntoTheLog) {
  ASSERT_EQ(send(alice_.wallet, bob_.wallet, 1), "ok");
  move(alice_.wallet, bob_.wallet, 1);
  EXPECT_EQ(count("@transactions t WHERE NOT EXISTS (SELECT 1 FROM " +
                  raw("@log_outbox o WHERE o.id = t.id AND o.kind = 1)")),
            0);
  EXPECT_EQ(count("@log_outbox WHERE kind = 1"), count("@transactions"));
  EXPECT_FALSE(execute(raw("DELETE FROM @log_outbox")));
}

}  // namespace
}  // namespace coffer::token
