#include "token/transfer/test_ledger.h"

namespace coffer::token::test {
namespace {

class TokenHolds : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    if (IsSkipped()) return;
    alice_ = make_user_wallet(1'000);
    bob_ = make_user_wallet();
  }
  NewHold new_hold(std::int64_t amount) {
    return {.id = random_uuid(),
            .wallet = alice_,
            .to = bob_,
            .amount = amount,
            .duration_ms = 60'000,
            .memo = "a deposit"};
  }
  Hold open(std::int64_t amount) {
    auto opened = store().open_hold(new_hold(amount), kTester);
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *std::move(opened) : Hold{};
  }
  std::string open_refusal(const NewHold& hold) {
    const auto refused = store().open_hold(hold, kTester);
    if (!refused) sql::test::expect_one_line(refused.error());
    return reason_of(refused);
  }
  Result<Hold> capture(const Hold& hold, const Uuid& transaction,
                       std::optional<std::int64_t> amount = {}) {
    return store().capture_hold(hold.id, transaction, amount, kTester);
  }
  std::int64_t held() {
    return count("SELECT held FROM @wallet_states WHERE id = $1::uuid", {id(alice_)});
  }

  Uuid alice_{}, bob_{};
};
COFFER_ON_EVERY_ENGINE(TokenHolds);

TEST_P(TokenHolds, OpenHoldSetsTokensAside) {
  const NewHold wanted = new_hold(600);
  const auto opened = store().open_hold(wanted, kTester);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->id, wanted.id);
  EXPECT_EQ(opened->wallet, alice_);
  EXPECT_EQ(opened->to, bob_);
  EXPECT_EQ(opened->amount, 600);
  EXPECT_EQ(opened->state, HoldState::kOpen);
  EXPECT_EQ(opened->created_by, "user:tester");
  EXPECT_EQ(opened->memo, "a deposit");
  EXPECT_EQ(opened->created_at_ms, kNow);
  EXPECT_EQ(opened->expires_at_ms, kNow + 60'000);
  EXPECT_EQ(held(), 600);
  EXPECT_EQ(balance(alice_), 1'000);
  EXPECT_EQ(store().find_hold(wanted.id).value()->amount, 600);
  EXPECT_EQ(store().find_hold(random_uuid()).value(), std::nullopt);
  EXPECT_EQ(count("SELECT count(*) FROM @audit WHERE action = 'open_hold'"), 1);
  EXPECT_EQ(count("SELECT count(*) FROM @wallet_events WHERE kind = 9 AND actor = 'user:tester'"),
            1);
}

TEST_P(TokenHolds, SameHoldAgainIsTheSame) {
  NewHold wanted = new_hold(600);
  ASSERT_TRUE(store().open_hold(wanted, kTester));
  ASSERT_TRUE(store().open_hold(wanted, kTester));
  EXPECT_EQ(held(), 600);
  wanted.amount = 601;
  EXPECT_EQ(open_refusal(wanted), "id_taken");
  wanted.amount = 600;
  wanted.duration_ms = 1;
  EXPECT_EQ(open_refusal(wanted), "id_taken");
}

TEST_P(TokenHolds, OpeningIsRefused) {
  EXPECT_EQ(open_refusal(new_hold(1'001)), "insufficient_balance");
  open(600);
  EXPECT_EQ(open_refusal(new_hold(401)), "balance_held");
  NewHold hold = new_hold(1);
  hold.to = random_uuid();
  EXPECT_EQ(open_refusal(hold), "recipient_not_found");
  hold = new_hold(1);
  hold.wallet = random_uuid();
  EXPECT_EQ(open_refusal(hold), "sender_not_found");
  ASSERT_TRUE(run("UPDATE @wallets SET is_frozen = TRUE WHERE id = $1::uuid", {id(bob_)}));
  EXPECT_EQ(open_refusal(new_hold(1)), "recipient_frozen");

  const std::vector<std::function<void(NewHold&)>> mistakes = {
      [](NewHold& h) { h.amount = 0; },
      [](NewHold& h) { h.to = h.wallet; },
      [](NewHold& h) { h.duration_ms = 0; },
      [](NewHold& h) { h.duration_ms = kMaxHoldMs + 1; },
      [](NewHold& h) { h.memo = std::string(501, 'x'); },
      [](NewHold& h) { h.id = {}; },
  };
  for (std::size_t i = 0; i < mistakes.size(); ++i) {
    NewHold wrong = new_hold(1);
    mistakes[i](wrong);
    EXPECT_EQ(store().open_hold(wrong, kTester).error().code, Code::kInvalidInput) << i;
  }
  EXPECT_EQ(held(), 600);
}

TEST_P(TokenHolds, WalletHasAtMostAThousandOpenHolds) {
  for (int i = 0; i < 1'000; ++i) open(1);
  pay(bank_, alice_, 1'000);
  EXPECT_EQ(open_refusal(new_hold(1)), "too_many_holds");
  // Those that are due make room.
  set_clock(kNow + 60'000);
  EXPECT_EQ(open_refusal(new_hold(1)), "applied");
  EXPECT_EQ(held(), 1);
}

TEST_P(TokenHolds, CaptureMovesAllOrAPart) {
  const Hold whole = open(300), part = open(400);
  const Uuid first = random_uuid(), second = random_uuid();
  const auto captured = capture(whole, first);
  ASSERT_TRUE(captured) << captured.error().message;
  EXPECT_EQ(captured->state, HoldState::kCaptured);
  EXPECT_EQ(captured->captured, 300);
  EXPECT_EQ(captured->capture_transaction, first);
  EXPECT_EQ(captured->ended_at_ms, kNow);
  EXPECT_EQ(capture(part, second, 150)->captured, 150);
  EXPECT_EQ(balance(alice_), 550);
  EXPECT_EQ(balance(bob_), 450);
  EXPECT_EQ(held(), 0);
  EXPECT_EQ(count("SELECT count(*) FROM @transaction_details WHERE actor = 'user:tester'"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM @wallet_events WHERE kind = 10 AND actor = 'user:tester'"),
            2);
  expect_consistent();

  // The same again answers as the first time.
  EXPECT_EQ(capture(whole, first)->captured, 300);
  EXPECT_EQ(capture(whole, first, 300)->captured, 300);
  EXPECT_EQ(capture(part, second, 150)->captured, 150);
  EXPECT_EQ(reason_of(capture(part, second)), "id_taken");
  EXPECT_EQ(reason_of(capture(part, random_uuid(), 150)), "hold_ended");
  EXPECT_EQ(balance(bob_), 450);
}

TEST_P(TokenHolds, CaptureIsRefused) {
  const Hold hold = open(300);
  const Uuid paid = pay(alice_, bob_, 1);
  Hold unknown;
  unknown.id = random_uuid();
  EXPECT_EQ(reason_of(capture(unknown, random_uuid())), "hold_not_found");
  EXPECT_EQ(reason_of(capture(hold, random_uuid(), 301)), "above_hold");
  EXPECT_EQ(capture(hold, random_uuid(), 0).error().code, Code::kInvalidInput);
  EXPECT_EQ(reason_of(capture(hold, paid)), "id_taken");
  ASSERT_TRUE(run("UPDATE @wallets SET is_frozen = TRUE WHERE id = $1::uuid", {id(bob_)}));
  EXPECT_EQ(reason_of(capture(hold, random_uuid())), "recipient_frozen");
  ASSERT_TRUE(run("UPDATE @wallets SET is_frozen = FALSE WHERE id = $1::uuid", {id(bob_)}));
  set_clock(kNow + 60'000);
  EXPECT_EQ(reason_of(capture(hold, random_uuid())), "hold_expired");
  EXPECT_EQ(held(), 300);
  EXPECT_EQ(balance(bob_), 1);
}

TEST_P(TokenHolds, ReleaseFreesTheTokens) {
  const Hold hold = open(300);
  const auto released = store().release_hold(hold.id, kTester);
  ASSERT_TRUE(released) << released.error().message;
  EXPECT_EQ(released->state, HoldState::kReleased);
  EXPECT_EQ(held(), 0);
  EXPECT_TRUE(store().release_hold(hold.id, kTester));
  EXPECT_EQ(reason_of(capture(hold, random_uuid())), "hold_ended");
  const Hold other = open(1);
  ASSERT_TRUE(capture(other, random_uuid()));
  EXPECT_EQ(reason_of(store().release_hold(other.id, kTester)), "hold_ended");
  EXPECT_EQ(reason_of(store().release_hold(random_uuid(), kTester)), "hold_not_found");
  EXPECT_EQ(count("SELECT count(*) FROM @audit WHERE action = 'release_hold'"), 1);
}

TEST_P(TokenHolds, DueHoldsAreExpired) {
  for (int i = 0; i < 5; ++i) open(10);
  NewHold late = new_hold(10);
  late.duration_ms = 120'000;
  ASSERT_TRUE(store().open_hold(late, kTester));
  EXPECT_EQ(store().expire_holds().value(), 0u);
  set_clock(kNow + 60'000);
  EXPECT_EQ(store().expire_holds(3).value(), 3u);
  EXPECT_EQ(store().expire_holds().value(), 2u);
  EXPECT_EQ(store().expire_holds().value(), 0u);
  EXPECT_EQ(held(), 10);
  EXPECT_EQ(count("SELECT count(*) FROM @wallet_events WHERE kind = 12 AND actor = 'host'"), 5);
}

TEST_P(TokenHolds, HoldsOfALockedWalletAreExpiredLater) {
  if (is_sqlite()) GTEST_SKIP() << "one writer";
  open(10);
  set_clock(kNow + 60'000);
  auto held_wallet = lock(bob_);
  EXPECT_EQ(store().expire_holds().value(), 0u);
  held_wallet->release();
  EXPECT_EQ(store().expire_holds().value(), 1u);
}

TEST_P(TokenHolds, PagesOfBothSides) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 5; ++i) {
    set_clock(kNow + i / 2);  // two with the same time
    ids.push_back(open(10).id);
  }
  ASSERT_TRUE(store().release_hold(ids[1], kTester));
  const auto all = [&](Store::HoldQuery query) {
    std::vector<Uuid> seen;
    query.page.count = 2;
    do {
      const auto page = store().holds(query);
      EXPECT_TRUE(page) << page.error().message;
      if (!page) break;
      EXPECT_LE(page->items.size(), 2u);
      for (const Hold& hold : page->items) seen.push_back(hold.id);
      query.page.cursor = page->cursor;
    } while (!query.page.cursor.empty());
    return seen;
  };
  const auto of_payer = all({.wallet = alice_});
  EXPECT_EQ(of_payer.size(), 5u);
  EXPECT_EQ(of_payer.front(), ids[4]);
  EXPECT_EQ(all({.recipient = bob_}), of_payer);
  EXPECT_EQ(all({.wallet = alice_, .open_only = true}).size(), 4u);
  EXPECT_EQ(all({.recipient = alice_}).size(), 0u);
  EXPECT_EQ(store().holds({}).error().code, Code::kInvalidInput);
  EXPECT_EQ(store().holds({.wallet = alice_, .page = {.cursor = "x"}}).error().code,
            Code::kInvalidInput);
  EXPECT_EQ(store().holds({.wallet = alice_, .page = {.count = 0}}).error().code,
            Code::kInvalidInput);
}

}  // namespace
}  // namespace coffer::token::test
