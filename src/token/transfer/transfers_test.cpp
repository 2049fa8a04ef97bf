#include "token/details.h"
#include "token/transfer/test_ledger.h"

namespace coffer::token::test {
namespace {

class TokenTransfers : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    if (IsSkipped()) return;
    alice_ = make_user_wallet(1'000);
    bob_ = make_user_wallet();
  }

  Result<Applied> send(const Transfer& transfer) { return store().transfer(transfer, kTester); }
  Result<Applied> send(const Uuid& from, const Uuid& to, std::int64_t amount) {
    return send(make_transfer(from, to, amount));
  }
  // The reason of a refusal that left nothing behind.
  std::string refusal_of(const Transfer& transfer) {
    const std::int64_t before = transactions();
    const auto refused = send(transfer);
    EXPECT_FALSE(refused);
    if (refused) return "applied";
    sql::test::expect_one_line(refused.error());
    EXPECT_EQ(transactions(), before);
    // A batch says the same.
    const auto batched = store().batch({&transfer, 1}, BatchMode::kEach, kTester);
    EXPECT_EQ(batched ? reason_of(batched->front()) : "failed", refused.error().reason);
    const auto whole = store().batch({&transfer, 1}, BatchMode::kAll, kTester);
    EXPECT_EQ(reason_of(whole), refused.error().reason);
    return refused.error().reason;
  }
  std::string refusal_of(const Uuid& from, const Uuid& to, std::int64_t amount) {
    return refusal_of(make_transfer(from, to, amount));
  }
  void freeze(const Uuid& wallet) {
    ASSERT_TRUE(run("UPDATE @wallets SET is_frozen = TRUE WHERE id = $1::uuid", {id(wallet)}));
  }
  void remove_owner(const Uuid& wallet) {
    ASSERT_TRUE(
        run("UPDATE @users SET deleted_at = $2 WHERE wallet_id = $1::uuid", {id(wallet), kNow}));
  }
  void limit(const Uuid& wallet, sql::Param per_transfer, sql::Param per_day) {
    ASSERT_TRUE(
        run("INSERT INTO @wallet_limits (wallet_id, per_transfer, per_day)"
            " VALUES ($1::uuid, $2, $3)",
            {id(wallet), per_transfer, per_day}));
  }

  Uuid alice_{}, bob_{};
};
COFFER_ON_EVERY_ENGINE(TokenTransfers);

TEST_P(TokenTransfers, AnswerHasTheBalanceAfter) {
  const Transfer transfer = make_transfer(alice_, bob_, 300);
  const auto applied = send(transfer);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_EQ(applied->id, transfer.id);
  EXPECT_EQ(applied->balance, 700);
  EXPECT_EQ(applied->created_at_ms, kNow);
  EXPECT_FALSE(applied->is_repeat);
  EXPECT_EQ(balance(alice_), 700);
  EXPECT_EQ(balance(bob_), 300);
  EXPECT_EQ(send(alice_, bob_, 700)->balance, 0);  // all of it (T1)
  const auto issued = send(bank_, bank_, 500);
  ASSERT_TRUE(issued) << issued.error().message;
  EXPECT_EQ(issued->balance, balance(bank_));
  expect_consistent();
}

TEST_P(TokenTransfers, RefusalsLeaveNothing) {
  const Uuid nobody = random_uuid(), frozen = make_user_wallet(10), gone = make_user_wallet(10);
  freeze(frozen);
  remove_owner(gone);
  EXPECT_EQ(refusal_of(nobody, bob_, 1), "sender_not_found");
  EXPECT_EQ(refusal_of(frozen, bob_, 1), "sender_frozen");
  EXPECT_EQ(refusal_of(gone, bob_, 1), "sender_deleted");
  EXPECT_EQ(refusal_of(alice_, alice_, 1), "not_a_system_wallet");
  EXPECT_EQ(refusal_of(alice_, nobody, 1), "recipient_not_found");
  EXPECT_EQ(refusal_of(alice_, frozen, 1), "recipient_frozen");
  EXPECT_EQ(refusal_of(alice_, gone, 1), "recipient_deleted");
  EXPECT_EQ(refusal_of(alice_, bob_, 1'001), "insufficient_balance");
  EXPECT_EQ(refusal_of(bank_, bank_, std::numeric_limits<std::int64_t>::max()),
            "issuance_overflow");
  Transfer early = make_transfer(alice_, bob_, 1);
  early.created_at_ms = kNow + 86'400'001;
  EXPECT_EQ(refusal_of(early), "created_in_future");
  early.created_at_ms = kNow + 86'400'000;
  EXPECT_TRUE(send(early));
  expect_consistent();
}

TEST_P(TokenTransfers, LimitsPerTransferAndDay) {
  limit(alice_, 300, 500);
  EXPECT_EQ(refusal_of(alice_, bob_, 301), "above_transfer_limit");
  ASSERT_TRUE(send(alice_, bob_, 300));
  EXPECT_EQ(refusal_of(alice_, bob_, 201), "above_daily_limit");
  ASSERT_TRUE(send(alice_, bob_, 200));
  EXPECT_EQ(refusal_of(alice_, bob_, 1), "above_daily_limit");
  set_clock(kNow + 86'400'000);
  EXPECT_TRUE(send(alice_, bob_, 1));
}

TEST_P(TokenTransfers, HeldTokensAreNotSpendable) {
  const auto hold = store().open_hold(
      {.id = random_uuid(), .wallet = alice_, .to = bob_, .amount = 600, .duration_ms = 1'000},
      kTester);
  ASSERT_TRUE(hold) << hold.error().message;
  EXPECT_EQ(refusal_of(alice_, bob_, 401), "balance_held");
  EXPECT_TRUE(send(alice_, bob_, 400));
  // A hold that is due counts until its row says that it ended: the transfer ends it (T10).
  set_clock(kNow + 1'000);
  const auto freed = send(alice_, bob_, 600);
  ASSERT_TRUE(freed) << freed.error().message;
  EXPECT_EQ(store().find_hold(hold->id).value()->state, HoldState::kExpired);
}

TEST_P(TokenTransfers, FieldsOutOfRangeAreRefused) {
  const auto code_of = [&](const std::function<void(Transfer&)>& change) {
    Transfer transfer = make_transfer(alice_, bob_, 1);
    change(transfer);
    const auto refused = send(transfer);
    EXPECT_FALSE(refused);
    return refused ? Code::kInternal : refused.error().code;
  };
  const std::vector<std::function<void(Transfer&)>> mistakes = {
      [](Transfer& t) { t.amount = 0; },
      [](Transfer& t) { t.amount = -5; },
      [](Transfer& t) { t.type = 0; },
      [](Transfer& t) { t.type = 100; },
      [](Transfer& t) { t.created_at_ms = 0; },
      [](Transfer& t) { t.id = {}; },
      [](Transfer& t) { t.memo = std::string(501, 'x'); },
      [](Transfer& t) { t.memo = std::string("a\0b", 3); },
      [](Transfer& t) { t.memo = "\xc0\x80"; },
      [](Transfer& t) { t.memo = "\xed\xa0\x80"; },
      [](Transfer& t) { t.metadata = ""; },
      [](Transfer& t) { t.metadata = "[1]"; },
      [](Transfer& t) { t.metadata = R"({"a":1,"a":2})"; },
      [](Transfer& t) { t.metadata = R"({"a":)"; },
      [](Transfer& t) { t.metadata = R"({"a":")" + std::string(4'096, 'x') + "\"}"; },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i)
    EXPECT_EQ(code_of(mistakes[i]), Code::kInvalidInput) << "mistake " << i;
  EXPECT_EQ(store().transfer(make_transfer(alice_, bob_, 1), {""}).error().code,
            Code::kInvalidInput);
  EXPECT_EQ(balance(bob_), 0);
}

TEST_P(TokenTransfers, DetailsAreStoredWithSaltedHashes) {
  Transfer transfer = make_transfer(alice_, bob_, 1);
  std::string memo;
  for (int i = 0; i < 500; ++i) memo += "ü";  // 500 characters, 1,000 bytes
  transfer.memo = memo;
  transfer.metadata = " {\"order\":17}\n";
  ASSERT_TRUE(send(transfer));
  auto connection = db().acquire();
  ASSERT_TRUE(connection);
  const auto row = connection->one<std::string, std::string, Bytes, Bytes, std::string>(
      community_->sql("SELECT memo, metadata, memo_salt, memo_hash, actor"
                      " FROM @transaction_details WHERE transaction_id = $1::uuid"),
      {id(transfer.id)});
  ASSERT_TRUE(row && *row);
  const auto& [stored_memo, metadata, salt, hash, actor] = **row;
  EXPECT_EQ(stored_memo, memo);
  EXPECT_EQ(metadata, R"({"order":17})");
  EXPECT_EQ(actor, "user:tester");
  ASSERT_EQ(salt.size(), 16u);
  EXPECT_TRUE(equal(hash, hash_detail(DetailSalt::from(salt.data()), memo).view()));
  // Without details there is the actor.
  const auto plain = send(alice_, bob_, 1);
  EXPECT_EQ(count("SELECT count(*) FROM @transaction_details WHERE transaction_id = $1::uuid"
                  " AND actor = 'user:tester' AND memo_hash IS NULL",
                  {id(plain->id)}),
            1);
}

TEST_P(TokenTransfers, RepeatAnswersAsTheFirstTime) {
  Transfer transfer = make_transfer(alice_, bob_, 100);
  transfer.memo = "rent";
  transfer.metadata = R"({"month":5})";
  const auto first = send(transfer);
  ASSERT_TRUE(first) << first.error().message;
  set_clock(kNow + 5'000);
  ASSERT_TRUE(send(alice_, bob_, 50));  // the balance moves on, the answer does not
  const auto again = send(transfer);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_repeat);
  EXPECT_EQ(again->balance, 900);
  EXPECT_EQ(again->created_at_ms, first->created_at_ms);
  EXPECT_EQ(balance(alice_), 850);

  const auto taken = [&](const std::function<void(Transfer&)>& change) {
    Transfer other = transfer;
    change(other);
    const auto refused = send(other);
    return refused ? "applied" : refused.error().reason;
  };
  EXPECT_EQ(taken([](Transfer& t) { t.amount = 101; }), "id_taken");
  EXPECT_EQ(taken([](Transfer& t) { t.type = 2; }), "id_taken");
  EXPECT_EQ(taken([](Transfer& t) { t.memo = "Rent"; }), "id_taken");
  EXPECT_EQ(taken([](Transfer& t) { t.memo.reset(); }), "id_taken");
  EXPECT_EQ(taken([](Transfer& t) { t.metadata = R"({"month":6})"; }), "id_taken");
  EXPECT_EQ(taken([](Transfer& t) { t.created_at_ms = 1; }), "id_taken");
  EXPECT_EQ(taken([&](Transfer& t) { std::swap(t.from, t.to); }), "id_taken");
  EXPECT_EQ(taken([&](Transfer& t) { t.created_at_ms = first->created_at_ms; }), "applied");
  EXPECT_EQ(balance(alice_), 850);
}

TEST_P(TokenTransfers, RepeatOfAnErasedTransferIsStillOne) {
  Transfer transfer = make_transfer(alice_, bob_, 100);
  transfer.memo = "rent";
  ASSERT_TRUE(send(transfer));
  ASSERT_TRUE(store().erase_details(transfer.id, kTester));
  EXPECT_TRUE(send(transfer)->is_repeat);
  transfer.memo.reset();
  EXPECT_EQ(reason_of(send(transfer)), "id_taken");
}

TEST_P(TokenTransfers, RefusedTransferConsumesNoId) {
  const Transfer transfer = make_transfer(alice_, bob_, 5'000);
  EXPECT_EQ(reason_of(send(transfer)), "insufficient_balance");
  pay(bank_, alice_, 10'000);
  const auto applied = send(transfer);
  ASSERT_TRUE(applied) << applied.error().message;
  EXPECT_FALSE(applied->is_repeat);
}

// Balances are worked out backwards from the last ones.
// Nothing is looked at first: a good batch is one wait for the server.
TEST_P(TokenTransfers, ReversalReturnsAllOnce) {
  const auto paid = send(alice_, bob_, 400);
  const Uuid reversal = random_uuid();
  const auto reversed = store().reverse(paid->id, reversal, kTester);
  ASSERT_TRUE(reversed) << reversed.error().message;
  EXPECT_EQ(reversed->id, reversal);
  EXPECT_EQ(reversed->balance, 0);
  EXPECT_EQ(balance(alice_), 1'000);
  const auto again = store().reverse(paid->id, reversal, kTester);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->is_repeat);
  EXPECT_EQ(reason_of(store().reverse(paid->id, random_uuid(), kTester)), "already_reversed");
  EXPECT_EQ(reason_of(store().reverse(reversal, random_uuid(), kTester)), "is_reversal");
  EXPECT_EQ(count("SELECT count(*) FROM @audit WHERE action = 'reverse_transfer'"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM @wallet_events WHERE kind = 13 AND actor = 'user:tester'"),
            1);
  expect_consistent();
}

TEST_P(TokenTransfers, ReversalIsRefused) {
  const auto paid = send(alice_, bob_, 400);
  const auto other = send(alice_, bob_, 1);
  const auto issued = send(bank_, bank_, 5);
  const auto refused = [&](const Uuid& transaction, const Uuid& reversal) {
    return reason_of(store().reverse(transaction, reversal, kTester));
  };
  EXPECT_EQ(refused(random_uuid(), random_uuid()), "transaction_not_found");
  EXPECT_EQ(refused(issued->id, random_uuid()), "is_issuance");
  EXPECT_EQ(refused(paid->id, other->id), "id_taken");
  EXPECT_EQ(store().reverse(paid->id, paid->id, kTester).error().code, Code::kInvalidInput);
  EXPECT_EQ(store().reverse(paid->id, random_uuid(), {"user:x"}).error().code,
            Code::kInvalidInput);  // without a reason
  ASSERT_TRUE(send(bob_, alice_, 2));
  EXPECT_EQ(refused(paid->id, random_uuid()), "insufficient_balance");
  freeze(alice_);
  EXPECT_EQ(refused(paid->id, random_uuid()), "recipient_frozen");
  EXPECT_EQ(count("SELECT count(*) FROM @reversals"), 0);
  expect_consistent();
}

TEST_P(TokenTransfers, ErasedDetailsLeaveTheirHashes) {
  Transfer transfer = make_transfer(alice_, bob_, 1);
  transfer.memo = "secret";
  transfer.metadata = "{}";
  ASSERT_TRUE(send(transfer));
  ASSERT_TRUE(store().erase_details(transfer.id, kTester));
  ASSERT_TRUE(store().erase_details(transfer.id, kTester));
  EXPECT_EQ(count("SELECT count(*) FROM @transaction_details WHERE memo IS NULL AND metadata IS"
                  " NULL AND memo_salt IS NULL AND memo_hash IS NOT NULL AND erased_at = $1",
                  {kNow}),
            1);
  EXPECT_EQ(count("SELECT count(*) FROM @audit WHERE action = 'erase_details'"), 1);
  EXPECT_EQ(reason_of(store().erase_details(random_uuid(), kTester)), "transaction_not_found");
}

}  // namespace
}  // namespace coffer::token::test
