// A transaction that a person said to be in a block, and a chain that knows better (E1).
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class UserConfirmed : public WalletTest {
 protected:
  void SetUp() override {
    WalletTest::SetUp();
    if (engine_ == nullptr) return;
    mine(), mine({rival_}), mine(), mine();
    ok(record(told_, in(2)));
    EXPECT_EQ(status(told_), "published@2");
  }
  // As if it were the first transaction of that block.
  RecordOptions in(std::uint64_t height) {
    RecordOptions options;
    options.block = BlockRef{height, chain_[height]->hash, chain_[height]->time_unix_s, 1};
    return options;
  }
  std::int64_t user_confirmed() {
    return number("SELECT count(*) FROM transactions WHERE user_confirmed");
  }

  // Two that the wallet has no part in, each on an input of the third.
  const MadeTx rival_ = make_tx({foreign(1)}, {{script(99), 90}}, 9'001);
  const MadeTx later_ = make_tx({foreign(2)}, {{script(99), 90}}, 9'002);
  const MadeTx told_ = make_tx({foreign(1), foreign(2)}, {{script(1), 100}}, 9'003);
};
COFFER_ON_BOTH_ENGINES(UserConfirmed);

TEST_P(UserConfirmed, ChainSpendOfInputOverrides) {  // E1
  mine({later_});
  EXPECT_EQ(status(told_), "failed: double_spent");
  EXPECT_EQ(status(later_), "published@4");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(UserConfirmed, ChainSpendOfInputOverridesAfterRestart) {  // E1
  engine_->open_consumer();
  mine({later_});
  EXPECT_EQ(status(told_), "failed: double_spent");
}

TEST_P(UserConfirmed, RescanOverrides) {  // E1
  engine_->open_consumer();
  ok(consumer().rescan_block(alice_, *chain_[1], [](const auto&) { return Result<bool>(true); }));
  EXPECT_EQ(status(told_), "failed: double_spent");
  EXPECT_EQ(status(rival_), "published@1");
}

TEST_P(UserConfirmed, DescendantsAreInvalidated) {  // E1
  const MadeTx child = tx({coin(told_)}, {{1, 95}});
  const MadeTx grandchild = tx({coin(child)}, {{2, 90}});
  ok(record(child, in(3)));
  ok(record(grandchild));
  EXPECT_EQ(balance().total, 90u);
  mine({later_});
  EXPECT_EQ(status(told_), "failed: double_spent");
  EXPECT_EQ(status(child), "failed: parent_invalid");
  EXPECT_EQ(status(grandchild), "failed: parent_invalid");
  EXPECT_EQ(balance().total, 0u);
}

TEST_P(UserConfirmed, IsNotPruned) {  // X1
  const MadeTx money = confirmed(100);
  const MadeTx spend = tx({coin(money)}, {{99, 90}});
  ok(record(spend, in(3)));
  mine_empty(400);
  EXPECT_EQ(store().prune(alice_, {})->transactions, 0u);
  EXPECT_EQ(status(money), "published@4");
  EXPECT_EQ(status(told_), "published@2");
  // It was wrong, and the coin is there.
  mine({tx({coin(money)}, {{1, 95}})});
  EXPECT_EQ(status(spend), "failed: double_spent");
  EXPECT_EQ(balance().confirmed, 195u);
}

TEST_P(UserConfirmed, WrongHeightIsCorrected) {  // E1
  const MadeTx payment = incoming(70, 9);
  mine({payment});  // block 4
  watch(alice_, script(9));
  RecordOptions wrong = in(4);
  wrong.block->height = 3;  // off by one
  ok(record(payment, wrong));
  EXPECT_EQ(status(payment), "published@3");
  ok(consumer().rescan_block(alice_, *chain_[4], [](const auto&) { return Result<bool>(true); }));
  EXPECT_EQ(status(payment), "published@4");
}

TEST_P(UserConfirmed, WrongHeightIsCorrectedBetweenPrunedBlocks) {  // E1
  for (int times = 0; times < 2; ++times) {
    const MadeTx money = confirmed(100);
    mine({tx({coin(money)}, {{99, 90}})});
    if (times == 0) mine_empty(10);
  }
  const MadeTx payment = incoming(70, 9);
  const std::uint64_t height = 10;
  mine_empty(400);
  EXPECT_EQ(store().prune(alice_, {})->transactions, 4u);
  watch(alice_, script(9));
  RecordOptions wrong;
  wrong.block = BlockRef{height, {}, 0, 1};
  wrong.block->hash.fill(0xee);
  ok(record(payment, wrong));
  const auto truth =
      make_block(network(), chain_[height - 1]->hash, height, {incoming(5, 9)}, 4'711);
  ok(consumer().rescan_block(alice_, *truth, [](const auto&) { return Result<bool>(true); }));
  EXPECT_EQ(status(payment), "published");
  EXPECT_EQ(balance().confirmed, 105u);
}

TEST_P(UserConfirmed, ChainConfirmationEndsWatching) {
  const MadeTx honest = incoming(50);
  const auto block = append_block({honest});
  EXPECT_EQ(user_confirmed(), 1);
  deliver(block);
  ok(record(honest, in(4)));
  EXPECT_EQ(user_confirmed(), 1);  // the chain had said it before
  const WalletId bob = make_wallet("bob", {7});
  const MadeTx old = incoming(20, 7);
  mine({old});
  ok(sql("UPDATE transactions SET user_confirmed = $1", {true}));
  ok(consumer().rescan_block(alice_, *chain_[4], [](const auto&) { return Result<bool>(true); }));
  ok(consumer().rescan_block(bob, *chain_[5], [](const auto&) { return Result<bool>(true); }));
  EXPECT_EQ(user_confirmed(), 1);
  mine({later_});
  EXPECT_EQ(status(told_), "failed: double_spent");
}

}  // namespace
}  // namespace coffer::wallet::test
