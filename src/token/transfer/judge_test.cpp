// The verdict in memory is the mover's verdict, for random states of wallets and random lists.
#include "base/random.h"
#include "token/transfer/ledger.h"
#include "token/transfer/test_ledger.h"

namespace coffer::token::test {
namespace {

constexpr std::int64_t kHuge = 9'000'000'000'000'000'000;

class TokenJudge : public LedgerTest {
 protected:
  void SetUp() override {
    LedgerTest::SetUp();
    if (IsSkipped()) return;
    for (int i = 0; i < 6; ++i) wallets_.push_back(make_user_wallet(100));
    wallets_.push_back(bank_);
    second_bank_ = make_wallet();
    ASSERT_TRUE(
        run("INSERT INTO @system_accounts (id, wallet_id, name, created_at, updated_at)"
            " VALUES ($1::uuid, $2::uuid, 'second', 1, 1)",
            {id(random_uuid()), id(second_bank_)}));
    wallets_.push_back(second_bank_);
    wallets_.push_back(make_wallet(50));  // an orphan
  }

  const Uuid& any_wallet() { return wallets_[rng_.below(wallets_.size())]; }

  // Something that decides transfers changes; what the schema refuses stays as it is.
  void change_something() {
    const Uuid& wallet = any_wallet();
    const auto amount = static_cast<std::int64_t>(rng_.below(120));
    switch (rng_.below(7)) {
      case 0:
        (void)run("UPDATE @wallets SET is_frozen = NOT is_frozen WHERE id = $1::uuid",
                  {id(wallet)});
        break;
      case 1:
        (void)run(
            "UPDATE @users SET deleted_at = CASE WHEN deleted_at IS NULL THEN $2::bigint END"
            " WHERE wallet_id = $1::uuid",
            {id(wallet), kNow});
        break;
      case 2:
        (void)run("DELETE FROM @wallet_limits WHERE wallet_id = $1::uuid", {id(wallet)});
        (void)run(
            "INSERT INTO @wallet_limits (wallet_id, per_transfer, per_day)"
            " VALUES ($1::uuid, $2, $3)",
            {id(wallet), rng_.one_in(2) ? sql::Param(amount / 2) : sql::Param(nullptr),
             rng_.one_in(2) ? sql::Param(amount * 2) : sql::Param(nullptr)});
        break;
      case 3:
        (void)run(
            "INSERT INTO @holds (id, wallet_id, to_wallet_id, amount, created_by, created_at,"
            " expires_at) VALUES ($1::uuid, $2::uuid, $3::uuid, $4, 'x', $5, $6)",
            {id(random_uuid()), id(wallet), id(any_wallet()), amount, kNow, kNow + 1'000});
        break;
      case 4:
        (void)run(
            "UPDATE @holds SET state = 'released', ended_at = $2 WHERE wallet_id = $1::uuid"
            " AND state = 'open'",
            {id(wallet), kNow});
        break;
      case 5:
        if (rng_.one_in(4)) (void)insert(make_transfer(second_bank_, second_bank_, kHuge));
        break;
      default: (void)insert(make_transfer(bank_, wallet, 1 + amount));
    }
  }

  Transfer any_transfer() {
    Transfer transfer =
        make_transfer(any_wallet(), any_wallet(), 1 + static_cast<std::int64_t>(rng_.below(150)));
    if (rng_.one_in(12)) transfer.from = random_uuid();
    if (rng_.one_in(12)) transfer.to = random_uuid();
    if (rng_.one_in(8)) transfer.to = transfer.from;
    if (rng_.one_in(12)) transfer.amount = kHuge;
    if (rng_.one_in(12)) transfer.from = second_bank_;
    if (rng_.one_in(12)) transfer.created_at_ms = kNow + 86'400'000 + (rng_.one_in(2) ? 1 : 0);
    return transfer;
  }

  // What decide() makes of the list: the first refusal, or what the senders have afterwards.
  Result<std::vector<std::int64_t>> decide_list(std::vector<Pending>& pending) {
    return db().run_transaction([&](sql::Transaction& sql) -> Result<std::vector<std::int64_t>> {
      Situation situation = TRY(read_situation(sql, *community_, pending, LockMode::kWait));
      decide(pending, situation, true);
      std::vector<std::int64_t> balances;
      for (const Pending& item : pending) {
        if (!item.answer) return std::unexpected(item.answer.error());
        balances.push_back(item.answer->balance);
      }
      return balances;
    });
  }

  // The same list as one statement of SQL; rows one by one in a transaction on SQLite.
  Result<> insert_list(std::vector<Pending>& pending) {
    auto done = db().run_transaction([&](sql::Transaction& sql) -> Result<> {
      std::vector<std::size_t> all;
      for (std::size_t i = 0; i < pending.size(); ++i) {
        all.push_back(i);
        pending[i].answer =
            Applied{.created_at_ms = pending[i].transfer->created_at_ms.value_or(kNow)};
      }
      return insert_transfers(sql, *community_, pending, all);
    });
    if (!done) return std::unexpected(explain(std::move(done).error()));
    return done;
  }

  std::vector<std::int64_t> entries_of(const std::vector<Pending>& pending) {
    std::vector<std::int64_t> balances;
    balances.reserve(pending.size());
    for (const Pending& item : pending)
      balances.push_back(
          count("SELECT balance FROM @wallet_entries WHERE transaction_id = $1::uuid"
                " AND wallet_id = $2::uuid",
                {id(item.transfer->id), id(item.transfer->from)}));
    return balances;
  }

  Rng rng_{17};
  std::vector<Uuid> wallets_;
  Uuid second_bank_{};
};
COFFER_ON_EVERY_ENGINE(TokenJudge);

TEST_P(TokenJudge, VerdictIsTheMovers) {
  std::map<std::string, int> verdicts;
  const int rounds = is_sqlite() ? 4'000 : 1'200;
  for (int round = 0; round < rounds; ++round) {
    if (rng_.one_in(3)) change_something();
    std::vector<Transfer> transfers(1 + (rng_.one_in(3) ? rng_.below(5) : 0));
    for (Transfer& transfer : transfers) transfer = any_transfer();
    std::vector<Pending> pending;
    pending.reserve(transfers.size());
    for (const Transfer& transfer : transfers)
      pending.push_back({.transfer = &transfer, .actor = "user:x"});

    const auto decided = decide_list(pending);
    const auto inserted = insert_list(pending);
    const std::string verdict = reason_of(decided);
    ASSERT_EQ(verdict, reason_of(inserted))
        << "round " << round << ", " << transfers.size()
        << " transfers: " << (decided ? "" : decided.error().message) << " / "
        << (inserted ? "" : inserted.error().message);
    if (decided) {
      ASSERT_EQ(*decided, entries_of(pending)) << "round " << round;
    }
    ++verdicts[verdict];
  }
  // A verdict that never occurred was never compared.
  for (const char* reason :
       {"applied", "created_in_future", "sender_not_found", "sender_frozen", "sender_deleted",
        "not_a_system_wallet", "recipient_not_found", "recipient_frozen", "recipient_deleted",
        "insufficient_balance", "balance_held", "issuance_overflow", "above_transfer_limit",
        "above_daily_limit"})
    EXPECT_GT(verdicts[reason], 0) << reason;
  expect_consistent();
}

// The one refusal that needs more than there ever is: the sum of all balances is the issuance,
// which ends at the same number. So no wallet can pass it, and only the rule itself is tried.
TEST(TokenJudgeRules, BalanceEndsWith63Bits) {
  const Uuid rich = random_uuid(), payer = random_uuid();
  Judge judge(kNow, 0);
  judge.add({.id = rich, .balance = kHuge});
  judge.add({.id = payer, .balance = kHuge});
  EXPECT_EQ(reason_of(judge.apply(make_transfer(payer, rich, kHuge))), "balance_overflow");
  EXPECT_EQ(reason_of(judge.apply(make_transfer(payer, rich, 1))), "applied");
}

}  // namespace
}  // namespace coffer::token::test
