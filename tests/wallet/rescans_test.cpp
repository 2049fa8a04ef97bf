// What is left of a rescan while the chain goes on and people ask for more; and old blocks against
// what somebody said of them.
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Rescans : public WalletTest {
 protected:
  Result<std::uint64_t> look_at(WalletId wallet, std::uint64_t height, bool on_chain = true) {
    return consumer().rescan_block(wallet, *chain_[height],
                                   [=](const auto&) { return Result<bool>(on_chain); });
  }
};

TEST_P(Rescans, ContinuesToCurrentPosition) {
  mine_empty(6);
  const auto asked = store().request_rescan(alice_, 0);
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_EQ(asked->rescan_to, 5u);
  mine_empty(2);  // meanwhile
  auto left = store().save_rescan(*asked, 6);
  ASSERT_TRUE(left) << left.error().message;
  ASSERT_TRUE(*left);
  EXPECT_EQ((*left)->rescan_next, 6u);
  EXPECT_EQ((*left)->rescan_to, 7u);
  left = store().save_rescan(**left, 8);
  ASSERT_TRUE(left);
  EXPECT_FALSE(*left);
  EXPECT_TRUE(store().requested_rescans()->empty());
}

TEST_P(Rescans, WiderRequestDuringRescanIsKept) {
  mine_empty(6);
  const auto first = store().request_rescan(alice_, 3);
  ASSERT_TRUE(first);
  ok(store().request_rescan(alice_, 1));  // while the first is at work
  const auto left = store().save_rescan(*first, 6);
  ASSERT_TRUE(left) << left.error().message;
  ASSERT_TRUE(*left);
  EXPECT_EQ((*left)->rescan_next, 1u);
  EXPECT_FALSE(store().request_rescan(alice_, 100));
}

// The blocks that were looked at already were looked at without what was imported since.
TEST_P(Rescans, SameRequestDuringRescanIsKept) {
  mine_empty(6);
  const auto first = store().request_rescan(alice_, 0);
  ASSERT_TRUE(first);
  ok(store().request_rescan(alice_, 0));
  auto left = store().save_rescan(*first, 5);
  ASSERT_TRUE(left && *left);
  EXPECT_EQ((*left)->rescan_next, 0u);
  left = store().save_rescan(**left, 6);
  ASSERT_TRUE(left);
  EXPECT_FALSE(*left);
}

// Coin C is found by a rescan after the block that spends it was passed: the rescan comes there.
TEST_P(Rescans, PassedSpendIsFound) {
  const WalletId bob = make_wallet("bob", {});
  const MadeTx payment = incoming(100, 7);
  mine({payment});
  ok(store().request_rescan(alice_, 0));
  const MadeTx spend = tx({{payment.id, 0}}, {{99, 90}});
  watch(bob, script(7));
  const auto asked = store().request_rescan(bob, 0);
  ASSERT_TRUE(asked);
  mine({spend});  // passed before the coin is known
  ok(look_at(bob, 0));
  EXPECT_EQ(state({payment.id, 0}, bob), "confirmed");
  const auto left = store().save_rescan(*asked, 1);
  ASSERT_TRUE(left && *left);
  ok(look_at(bob, *(*left)->rescan_next));
  EXPECT_EQ(state({payment.id, 0}, bob), "spent");
}

TEST_P(Rescans, ChainOverridesUserNamedBlock) {
  const WalletId bob = make_wallet("bob", {});
  const MadeTx early = incoming(5), payment = incoming(100, 7), late = incoming(9);
  mine({early});
  mine({payment});
  mine({late});
  RecordOptions wrong;
  wrong.block = BlockRef{1, {}, 0, 0};
  wrong.block->hash.fill(0xee);
  const MadeTx lie = incoming(3);
  ok(record(lie, wrong));
  EXPECT_EQ(status(lie), "published@1");
  watch(bob, script(7));
  ok(look_at(bob, 1));
  EXPECT_EQ(status(payment, bob), "published@1");
  EXPECT_EQ(status(lie), "published");
  EXPECT_EQ(status(early), "published@0");
  EXPECT_EQ(status(late), "published@2");
}

TEST_P(Rescans, StaleBlockIsRefused) {
  const WalletId bob = make_wallet("bob", {});
  const MadeTx payment = incoming(100, 7);
  mine({payment});
  watch(bob, script(7));
  const auto looked = look_at(bob, 0, false);
  ASSERT_FALSE(looked);
  EXPECT_EQ(looked.error().code, Code::kUnavailable);
  EXPECT_TRUE(looked.error().retryable);
  EXPECT_EQ(status(payment, bob), "absent");
}

COFFER_ON_BOTH_ENGINES(Rescans);

}  // namespace
}  // namespace coffer::wallet::test
