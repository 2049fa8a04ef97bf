// Two processes that follow the chain for one database: not asked for, and not harmful either.
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Followers : public WalletTest {
 protected:
  void SetUp() override {
    WalletTest::SetUp();
    if (engine_ == nullptr) return;
    mine();
    paid_ = tx({foreign(1)}, {{1, 100}});
    rival_ = tx({foreign(1)}, {{99, 100}});
    mine({paid_});
    // It reads the wallets when the payment is long in a block, with the block that it is first to
    // take.
    other_ = Consumer::open(store()).value();
    tell_other(append_block({}));
    deliver(chain_.back());
  }

  void tell_other(const std::shared_ptr<const chain::Block>& block) {
    ok(other_->on_block({Ordinal(block->number.value), block, false, 0}));
  }
  // The first one is faster, and then it is gone.
  void both_roll_back(std::uint64_t blocks) {
    const auto gone = roll_back(blocks);
    ok(other_->on_rollback({position_after(chain_.size())}));
    EXPECT_EQ(other_->position(), position_after(chain_.size()));
  }

  std::unique_ptr<Consumer> other_;
  MadeTx paid_, rival_;
};
COFFER_ON_BOTH_ENGINES(Followers);

TEST_P(Followers, BlockIsAppliedOnce) {
  EXPECT_EQ(status(paid_), "published@1");
  EXPECT_EQ(balance().confirmed, 100u);
  EXPECT_EQ(other_->position(), consumer().position());
  const MadeTx more = tx({foreign(2)}, {{1, 7}});
  tell_other(append_block({more}));
  deliver(chain_.back());
  EXPECT_EQ(balance().confirmed, 107u);
}

TEST_P(Followers, DisconnectedIsWatchedByOther) {
  both_roll_back(2);
  EXPECT_EQ(status(paid_), "published");
  tell_other(append_block({rival_}));
  EXPECT_EQ(status(paid_), "failed: double_spent");
}

// Nothing is paid to the wallet: only the coin tells that the transaction is of interest.
TEST_P(Followers, SpendOfCoinOfOtherProcessIsSeen) {  // W12
  const MadeTx more = incoming(7);
  mine({more});
  tell_other(chain_.back());
  const MadeTx payment = tx({coin(more)}, {{99, 6}});
  tell_other(append_block({payment}));
  EXPECT_EQ(status(payment), "published@4");
  EXPECT_EQ(balance().total, 100u);
}

TEST_P(Followers, SpendIsSeenAfterRestart) {  // W12
  engine_->open();
  const MadeTx payment = tx({coin(paid_)}, {{99, 90}});
  mine({payment});
  EXPECT_EQ(status(payment), "published@3");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(Followers, SpendOfRecordedCoinIsSeen) {  // W12
  const MadeTx more = incoming(7), payment = tx({coin(more)}, {{99, 6}});
  ok(record(more));
  see(payment);
  EXPECT_EQ(status(payment), "published");
  EXPECT_EQ(balance().total, 100u);
}

// The payment was in a block when it read the wallets; it takes the block away itself.
TEST_P(Followers, DisconnectedIsWatchedAfterRestart) {  // W12
  engine_->open();
  mine();  // it has read the wallets
  (void)roll_back(3);
  EXPECT_EQ(status(paid_), "published");
  mine({rival_});
  EXPECT_EQ(status(paid_), "failed: double_spent");
}

TEST_P(Followers, MempoolSpendOfOtherProcessIsSeen) {
  both_roll_back(2);
  ok(other_->on_tx_seen(make_seen(network(), rival_)));
  EXPECT_EQ(status(paid_), "replaced: replaced");
}

TEST_P(Followers, RollbackWithoutOwnBlocks) {
  (void)roll_back(2);
  mine({tx({foreign(3)}, {{1, 5}})});
  mine();
  // The other one stood on the old branch and begins again where the database stands.
  EXPECT_EQ(code(other_->on_block({Ordinal(3), make_block(network(), {}, 3, {}, 77), false, 0})),
            Code::kUnavailable);
  ok(other_->probe());
  EXPECT_EQ(other_->position(), position_after(3));
  tell_other(append_block({rival_}));
  EXPECT_EQ(status(paid_), "failed: double_spent");
  EXPECT_EQ(balance().confirmed, 5u);
}

TEST_P(Followers, PositionIsReadAfterWait) {
  ok(other_->on_rollback({position_after(1)}));
  EXPECT_EQ(code(try_deliver(append_block({incoming(7)}))), Code::kUnavailable);
  EXPECT_EQ(consumer().position(), position_after(3));
  ok(consumer().probe());
  EXPECT_EQ(consumer().position(), position_after(1));
  for (std::size_t height = 1; height < chain_.size(); ++height) deliver(chain_[height]);
  EXPECT_EQ(balance().confirmed, 107u);
}

TEST_P(Followers, HeldBlocksOfOtherBranchAreDropped) {
  deliver(append_block({incoming(7)}), 1);  // held back
  EXPECT_EQ(balance().confirmed, 100u);
  ok(other_->on_rollback({position_after(2)}));
  EXPECT_EQ(code(consumer().flush()), Code::kUnavailable);
  ok(consumer().probe());
  EXPECT_EQ(consumer().position(), position_after(2));
  chain_.resize(2);
  deliver(append_block({incoming(5)}));
  EXPECT_EQ(balance().confirmed, 105u);
}

TEST_P(Followers, HeldBlocksOfSameBranchAreKept) {
  deliver(append_block({incoming(7)}), 1);  // held back
  ok(consumer().probe());
  EXPECT_EQ(consumer().position(), position_after(4));
  EXPECT_EQ(balance().confirmed, 107u);
}

TEST_P(Followers, RollbackOfOtherBranchIsRefused) {
  // The other one's node knows a branch from block 1 on, three blocks long; the first one's only
  // that block 2 has gone.
  const auto first_branch = chain_;
  ok(other_->on_rollback({position_after(1)}));
  chain_.resize(1);
  for (int i = 0; i < 3; ++i) tell_other(append_block({incoming(1)}));
  const auto other_branch = std::exchange(chain_, first_branch);
  EXPECT_EQ(code(try_roll_back(1)), Code::kUnavailable);
  EXPECT_EQ(balance().confirmed, 3u);
  ok(consumer().probe());
  chain_ = other_branch;
  EXPECT_EQ(consumer().position(), position_after(4));
}

TEST_P(Followers, RescanOfOtherBranchChangesNothing) {
  const auto asked = [&](const bus::Position& stored) -> Result<bool> {
    return stored.point.hash == chain_.back()->hash;
  };
  ok(consumer().rescan_block(alice_, *chain_[1], asked));
  const auto first_branch = chain_;
  ok(other_->on_rollback({position_after(1)}));
  chain_.resize(1);
  for (int i = 0; i < 3; ++i) tell_other(append_block({}));
  chain_ = first_branch;
  EXPECT_EQ(code(consumer().rescan_block(alice_, *chain_[1], asked)), Code::kUnavailable);
  EXPECT_EQ(status(paid_), "published");
}

TEST(FollowsAlone, ReadsOnlyNewRows) {
  const TempDir dir;
  int all_scripts = 0;
  sql::DatabaseOptions options;
  options.location = "sqlite:" + (dir.path() / "alone.db").string();
  options.on_statement = [&](std::string_view text) {
    all_scripts += text.starts_with("SELECT script_pub_key FROM addresses WHERE id >") ? 1 : 0;
  };
  WalletEngine engine("alone", options, {});
  const WalletId wallet = engine.store().create({"alice"})->id;
  ASSERT_TRUE(engine.store().import_script(wallet, script(1), {}));
  std::vector<std::shared_ptr<const chain::Block>> chain;
  for (std::uint32_t nonce = 0; nonce < 20; ++nonce) {
    const std::vector<MadeTx> txs = {make_tx({foreign(nonce)}, {{script(1), 10}}, nonce)};
    ASSERT_TRUE(engine.consumer().on_tx_seen(make_seen(engine.network(), txs[0])));
    const Hash256 prev = chain.empty() ? Hash256{} : chain.back()->hash;
    chain.push_back(make_block(engine.network(), prev, chain.size(), txs, nonce));
    ASSERT_TRUE(engine.consumer().on_block({Ordinal(chain.size() - 1), chain.back(), false, 0}));
    if (nonce % 5 != 4) continue;
    chain.pop_back();
    ASSERT_TRUE(engine.consumer().on_rollback(
        {bus::Position::after(Ordinal(chain.size() - 1), chain.back()->point())}));
  }
  EXPECT_EQ(all_scripts, 1);
}

}  // namespace
}  // namespace coffer::wallet::test
