// Where others delete too early or never (X2), on every database.
#include <gtest/gtest.h>

#include "txstore/support/traps_test_base.h"

namespace coffer::txstore::test {
namespace {

using retention::Reason;

TEST_P(TxStoreTraps, ChildOnTwoForksHighestOnChain) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->jump_to(1'250);
  ASSERT_EQ(store_->unset_mined(make_id(kAfter), ref_at(1'000)), Outcome::kDone);
  ASSERT_EQ(store_->set_mined(make_id(kAfter), ref_at(1'250, 1)), Outcome::kDone);
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kChildNotFinal);
  EXPECT_TRUE(is_kept_at(1'537));
  EXPECT_FALSE(is_kept_at(1'538));
}

// The longest chain has it at 1000, another branch at 1250: that branch may still win.
TEST_P(TxStoreTraps, ChildOnTwoForksHighestOffChain) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->jump_to(1'250);
  ASSERT_EQ(store_->set_mined(make_id(kAfter), ref_at(1'250, 1), false), Outcome::kDone);
  EXPECT_EQ(store_->find(make_id(kAfter))->highest_height(), 1'250u);
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kChildNotFinal);
  EXPECT_TRUE(is_kept_at(1'537));
  EXPECT_FALSE(is_kept_at(1'538));
}

// Its own block counts as its children's do.
TEST_P(TxStoreTraps, ParentOnTwoForks) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->jump_to(1'250);
  ASSERT_EQ(store_->set_mined(make_id(kParent), ref_at(1'250, 1), false), Outcome::kDone);
  store_->force_stamp(make_id(kParent), 1'288);  // the stamp that it had before
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kNotFinal);
  EXPECT_TRUE(is_kept_at(1'537));
  EXPECT_FALSE(is_kept_at(1'538));
}

// Without a mark the parent would wait for its child for ever.
TEST_P(TxStoreTraps, ChildDeletedFirst) {
  create_parent(2);
  store_->jump_to(1'000);
  create_child(kAfter, 0, false);
  mine_at_tip(kAfter);
  EXPECT_TRUE(is_kept_at(1'400));
  EXPECT_FALSE(store_->is_stored(make_id(kAfter)));
  const StoredOutput entry = store_->output(make_id(kParent), 0);
  EXPECT_TRUE(entry.spent && entry.final);
  EXPECT_EQ(entry.spender, make_id(kAfter));
  EXPECT_EQ(must((*store_)->absence(make_id(kAfter))), Absence::kPruned);
  // It is old, not new.
  EXPECT_EQ(store_->create(make_tx(kAfter, {{make_id(kParent), 0}}, 1)), Outcome::kDeletedChild);
  create_child(kOther, 1);
  mine_at_tip(kOther);
  EXPECT_TRUE(is_kept_at(1'687));
  EXPECT_FALSE(is_kept_at(1'688));
  EXPECT_NE(must((*store_)->absence(make_id(kAfter))), Absence::kPruned);
}

TEST_P(TxStoreTraps, TwoInputsOfOneParentAreBothMarked) {
  create_parent(3);
  store_->jump_to(1'000);
  NewTx child = make_tx(kAfter, {{make_id(kParent), 0}, {make_id(kParent), 2}}, 0);
  add_op_return(child);
  ASSERT_EQ(store_->create(child), Outcome::kDone);
  ASSERT_EQ(store_->spend(child.id), Outcome::kDone);
  mine_at_tip(kAfter);
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_FALSE(store_->is_stored(child.id));
  EXPECT_TRUE(store_->output(make_id(kParent), 0).final);
  EXPECT_FALSE(store_->output(make_id(kParent), 1).final);
  EXPECT_TRUE(store_->output(make_id(kParent), 2).final);
  EXPECT_EQ(must((*store_)->stats()).counts.final_entries, 2);
}

TEST_P(TxStoreTraps, ParentAndChildInOnePass) {
  for (const std::uint64_t child : {kBefore, kAfter}) {
    begin();
    create_parent(1);
    store_->jump_to(1'000);
    create_child(child, 0, false);
    mine_at_tip(child);
    store_->jump_to(1'288);
    const CleanupReport report = store_->prune();
    EXPECT_EQ(report.deleted, 2u) << child;
    EXPECT_EQ(must((*store_)->stats()).counts.records, 0);
    EXPECT_EQ(must((*store_)->stats()).counts.final_entries, 0);
    EXPECT_NE(must((*store_)->absence(make_id(child))), Absence::kPruned);
  }
}

TEST_P(TxStoreTraps, Preserved) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  ASSERT_EQ(store_->preserve(make_id(kParent), 9'999), Outcome::kDone);
  EXPECT_TRUE(is_kept_at(1'500));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kPreserved);
  store_->force_stamp(make_id(kParent), 1'000);
  EXPECT_TRUE(is_kept_at(1'501));
  EXPECT_EQ(store_->find(make_id(kParent))->preserve_until, 9'999u);
}

TEST_P(TxStoreTraps, EndOfPreservation) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  ASSERT_EQ(store_->preserve(make_id(kParent), 2'000), Outcome::kDone);
  EXPECT_TRUE(is_kept_at(1'999));
  EXPECT_EQ(store_->find(make_id(kParent))->preserve_until, 2'000u);
  EXPECT_TRUE(is_kept_at(2'000));
  EXPECT_FALSE(store_->find(make_id(kParent))->preserve_until);
  EXPECT_EQ(store_->find(make_id(kParent))->delete_at_height, 2'288u);
  EXPECT_TRUE(is_kept_at(2'287));
  EXPECT_FALSE(is_kept_at(2'288));
}

// No operation leaves this behind; if it is there, it is doubt.
TEST_P(TxStoreTraps, ConflictingChild) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->force_conflicting(make_id(kAfter), 2'000);
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kChildConflicting);
}

// Absent is not final: only a mark tells that a child was.
TEST_P(TxStoreTraps, AbsentChild) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  store_->force_erase(make_id(kAfter));
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_EQ(store_->find(make_id(kParent))->kept, Reason::kChildAbsent);
  EXPECT_TRUE(is_kept_at(100'000));
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kChildAbsent);
  EXPECT_EQ(must((*store_)->stats()).counts.kept[static_cast<std::size_t>(Reason::kChildAbsent)],
            1);
}

TEST_P(TxStoreTraps, CoinbaseWithOpReturn) {
  NewTx coinbase = make_coinbase(kParent, 500, 1);
  add_op_return(coinbase);
  ASSERT_EQ(store_->create(coinbase), Outcome::kDone);
  EXPECT_FALSE(store_->find(coinbase.id)->delete_at_height);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  mine_at_tip(kAfter);
  EXPECT_EQ(store_->find(coinbase.id)->delete_at_height, 1'288u);
  EXPECT_TRUE(is_kept_at(1'287));
  EXPECT_FALSE(is_kept_at(1'288));
}

// Nothing will ever spend it, so no spend will stamp it.
TEST_P(TxStoreTraps, NoSpendableOutputs) {
  NewTx tx = make_tx(kParent, {}, 0);
  add_op_return(tx);
  ASSERT_EQ(store_->create(tx), Outcome::kDone);
  EXPECT_FALSE(store_->find(tx.id)->delete_at_height);
  store_->jump_to(1'000);
  mine_at_tip(kParent);
  EXPECT_EQ(store_->find(tx.id)->delete_at_height, 1'288u);
  EXPECT_TRUE(is_kept_at(1'287));
  EXPECT_FALSE(is_kept_at(1'288));
}

TEST_P(TxStoreTraps, NoOutputsAtAll) {
  ASSERT_EQ(store_->create(mined(make_tx(kParent, {}, 0), 999)), Outcome::kDone);
  EXPECT_TRUE(is_kept_at(1'286));
  EXPECT_FALSE(is_kept_at(1'287));
}

TEST_P(TxStoreTraps, ConflictingWithUnspentOutputs) {
  create_parent(1);
  store_->jump_to(1'000);
  create_child(kAfter, 0);
  ASSERT_EQ(store_->create(make_tx(kOther, {{make_id(kAfter), 0}}, 2)), Outcome::kDone);
  ASSERT_EQ(store_->spend(make_id(kOther)), Outcome::kDone);
  ASSERT_EQ(store_->mark_conflicting(make_id(kAfter)), Outcome::kDone);
  // The descendant goes with it; the parent has its output back and no mark.
  EXPECT_EQ(store_->find(make_id(kOther))->state, State::kConflicting);
  EXPECT_EQ(store_->find(make_id(kAfter))->delete_at_height, 1'288u);
  EXPECT_FALSE(store_->output(make_id(kParent), 0).spent);
  EXPECT_TRUE(is_kept_at(1'287));
  EXPECT_TRUE(store_->is_stored(make_id(kAfter)));
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_FALSE(store_->is_stored(make_id(kAfter)));
  EXPECT_FALSE(store_->is_stored(make_id(kOther)));
  EXPECT_FALSE(store_->output(make_id(kParent), 0).final);
  EXPECT_EQ(store_->create(make_tx(kAfter, {{make_id(kParent), 0}}, 1)), Outcome::kDone);
}

TEST_P(TxStoreTraps, ConflictingPreserved) {
  store_->jump_to(1'000);
  ASSERT_EQ(store_->create(make_tx(kParent, {}, 1)), Outcome::kDone);
  ASSERT_EQ(store_->mark_conflicting(make_id(kParent)), Outcome::kDone);
  ASSERT_EQ(store_->preserve(make_id(kParent), 2'000), Outcome::kDone);
  store_->force_stamp(make_id(kParent), 1'001);
  EXPECT_TRUE(is_kept_at(1'288));
  EXPECT_TRUE(is_kept_at(1'999));
}

TEST_P(TxStoreTraps, WindowBoundary) {
  for (const std::uint64_t distance : {287, 288, 289}) {
    begin();
    create_parent(1);
    store_->jump_to(1'000);
    create_child(kAfter, 0);
    store_->jump_to(1'100);
    mine_at_tip(kAfter);
    EXPECT_EQ(is_kept_at(1'100 + distance), distance < 288) << distance;
  }
}

// The children are read in steps, each once: what was read as final is written down.
TEST_P(TxStoreTraps, ParentWithManyChildren) {
  const std::uint32_t children = GetParam() == Engine::kRocksDb ? 100'000 : 2'000;
  constexpr std::uint32_t kBatch = 2'000;
  Options options;
  options.cleanup_budget = children / 10;
  begin(options);
  create_parent(children);
  store_->jump_to(1'000);
  for (std::uint32_t first = 0; first < children; first += kBatch) {
    std::vector<NewTx> txs;
    std::vector<SpendRequest> spends;
    std::vector<Hash256> ids;
    for (std::uint32_t i = first; i < std::min(children, first + kBatch); ++i) {
      txs.push_back(make_tx(1'000 + i, {{make_id(kParent), i}}, 1));
      spends.push_back({txs.back().id, {}});
      ids.push_back(txs.back().id);
    }
    for (const ItemResult& result : must((*store_)->create(txs)))
      ASSERT_EQ(result.outcome, Outcome::kDone);
    for (const SpendResult& result : must((*store_)->spend(spends)))
      ASSERT_EQ(result.outcome, Outcome::kDone);
    if (first + kBatch >= children) ids.pop_back();  // the last one is mined later
    for (const ItemResult& result : must((*store_)->set_mined(ids, ref_at(1'000))))
      ASSERT_EQ(result.outcome, Outcome::kDone);
  }
  const auto clean = [&] {
    CleanupReport sum;
    for (int i = 0; i < 1'000; ++i) {
      const CleanupReport report = must((*store_)->cleanup());
      EXPECT_LE(report.children_read, options.cleanup_budget);
      sum.children_read += report.children_read;
      sum.marked_final += report.marked_final;
      sum.deleted += report.deleted;
      if (report.done) return sum;
    }
    ADD_FAILURE() << "cleanup comes to no end";
    return sum;
  };
  store_->jump_to(1'288);
  const CleanupReport first = clean();
  EXPECT_EQ(first.deleted, 0u);
  EXPECT_EQ(first.marked_final, children - 1);
  EXPECT_EQ(first.children_read, children);
  EXPECT_EQ(store_->reason(make_id(kParent)), Reason::kChildUnmined);
  mine_at_tip(1'000 + children - 1);
  store_->jump_to(1'576);
  const CleanupReport second = clean();
  EXPECT_EQ(second.children_read, 0u);  // not yet due: an unmined child cannot be final sooner
  store_->jump_to(1'577);
  const CleanupReport third = clean();
  EXPECT_EQ(third.children_read, 1u);
  EXPECT_EQ(third.deleted, 1u);
  EXPECT_FALSE(store_->is_stored(make_id(kParent)));
  EXPECT_EQ(must((*store_)->stats()).counts.final_entries, 0);
}

COFFER_ON_EVERY_STORE(TxStoreTraps);

}  // namespace
}  // namespace coffer::txstore::test
