// Where a stamp, or the block that a child once had, would delete too early (X2).
#include <gtest/gtest.h>

#include "txstore/support/traps_test_base.h"

namespace coffer::txstore::test {
namespace {

using retention::Reason;

// A stamp says when to look, never that it may go.
TEST_P(TxStoreTraps, WrongStampUnspentOutput) {
  create_parent(2);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->force_stamp(make_id(kParent), 1'001);
  EXPECT_TRUE(is_kept_at(3'000));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kUnspent);
  EXPECT_EQ(store_->find(make_id(kParent))->kept, Reason::kUnspent);
  const Hash256 id = make_id(kParent);
  EXPECT_EQ(must((*store_)->remove({&id, 1})).at(0).outcome, Outcome::kKept);
}

TEST_P(TxStoreTraps, WrongStampFrozenOutput) {
  create_parent(1);
  const chain::Outpoint output = {make_id(kParent), 0};
  ASSERT_EQ(must((*store_)->freeze({&output, 1})).at(0).outcome, Outcome::kDone);
  store_->force_stamp(make_id(kParent), 1'001);
  EXPECT_TRUE(is_kept_at(3'000));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kFrozen);
}

TEST_P(TxStoreTraps, WrongStampUnmined) {
  NewTx tx = make_tx(kParent, {}, 0);
  add_op_return(tx);
  ASSERT_EQ(store_->create(tx), Outcome::kDone);
  store_->force_stamp(make_id(kParent), 1'001);
  EXPECT_TRUE(is_kept_at(3'000));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kUnmined);
}

TEST_P(TxStoreTraps, WrongStampLocked) {
  NewTx tx = make_tx(kParent, {}, 0);
  add_op_return(tx);
  tx.locked = true;
  ASSERT_EQ(store_->create(tx), Outcome::kDone);
  store_->force_stamp(make_id(kParent), 1'001);
  EXPECT_TRUE(is_kept_at(3'000));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kLocked);
}

TEST_P(TxStoreTraps, WrongStampOwnBlockNotFinal) {
  NewTx tx = mined(make_tx(kParent, {}, 0), 999);
  add_op_return(tx);
  ASSERT_EQ(store_->create(tx), Outcome::kDone);
  store_->force_stamp(make_id(kParent), 1'000);
  EXPECT_TRUE(is_kept_at(1'286));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kNotFinal);
  EXPECT_FALSE(is_kept_at(1'287));
}

TEST_P(TxStoreTraps, WrongStampUnminedChild) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  store_->force_stamp(make_id(kParent), 1'000);
  EXPECT_TRUE(is_kept_at(3'000));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kChildUnmined);
}

// The block that had it is below the final height, and was undone.
TEST_P(TxStoreTraps, UnminedChildOfOldBlock) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->jump_to(1'001);
  ASSERT_EQ(store_->unset_mined(make_id(kAfter), ref_at(1'000)), Outcome::kDone);
  EXPECT_TRUE(is_kept_at(1'300));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kChildUnmined);
}

// All children are final, but it is to stay longer.
TEST_P(TxStoreTraps, StampNotReached) {
  Options options;
  options.block_height_retention = 400;
  begin(options);
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->jump_to(1'399);
  const Hash256 id = make_id(kParent);
  EXPECT_EQ(must((*store_)->remove({&id, 1})).at(0).outcome, Outcome::kKept);
  EXPECT_FALSE(is_kept_at(1'400));
}

}  // namespace
}  // namespace coffer::txstore::test
