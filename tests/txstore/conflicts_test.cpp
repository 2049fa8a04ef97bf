// Conflicts, locks and expiry where one transaction is reached in more than one way, on every
// database. Most of these were met by random operations first (TxStoreModel).
#include "txstore/support/stores.h"

namespace coffer::txstore::test {
namespace {

class TxStoreConflicts : public StoreTest {
 protected:
  TxStoreConflicts() {
    options_.window = options_.block_height_retention = 5;
    options_.unmined_retention = 4;
  }
  TestStore& store() {
    if (!store_) {
      store_.emplace(GetParam(), options_);
      store_->jump_to(200);
    }
    return *store_;
  }
  std::optional<Mark> mark(const Hash256& id) {
    Marks found;
    EXPECT_TRUE(store()->backend().run(Hold::kRecords, [&](Unit& unit) -> Result<> {
      Record record;
      record.head.id = id;
      Record* const one[] = {&record};
      TRY(unit.load(one));
      return unit.load_marks(std::array{id}, found);
    }));
    return found.contains(id) ? std::optional(found[id]) : std::nullopt;
  }
  void verify() {
    const auto verified = store()->verify([](std::string_view, std::uint64_t) {});
    EXPECT_TRUE(verified) << verified.error().message;
  }

  Options options_;
  std::optional<TestStore> store_;
};
COFFER_ON_EVERY_STORE(TxStoreConflicts);

// Reached once for each output that it spends, with more inputs and outputs than a record holds.
TEST_P(TxStoreConflicts, LargeChildOfManyOutputs) {
  constexpr std::uint32_t kSpent = 20;
  std::vector<chain::Outpoint> inputs;
  inputs.reserve(kSpent);
  for (std::uint32_t i = 0; i < kSpent; ++i) inputs.push_back({make_id(1), i});
  ASSERT_EQ(store().create(make_tx(1, {}, kSpent)), Outcome::kDone);
  ASSERT_EQ(store().create(make_tx(2, inputs, 40)), Outcome::kDone);
  ASSERT_EQ(store().spend(make_id(2)), Outcome::kDone);
  ASSERT_EQ(store().mark_conflicting(make_id(1)), Outcome::kDone);
  EXPECT_EQ(store().find(make_id(2))->state, State::kConflicting);
  EXPECT_EQ(store().find(make_id(1))->spent, 0u);
  EXPECT_EQ(must(store()->stats()).counts.conflicting, 2);
  verify();
}

TEST_P(TxStoreConflicts, RefusedMiningKeepsTheLock) {
  ASSERT_EQ(store().create(make_tx(1, {}, 1)), Outcome::kDone);
  ASSERT_EQ(store().mark_conflicting(make_id(1)), Outcome::kDone);
  ASSERT_TRUE(must(store()->lock(std::array{make_id(1)})).front().ok());
  EXPECT_EQ(store().set_mined(make_id(1), ref_at(200)), Outcome::kConflicting);
  EXPECT_TRUE(store().find(make_id(1))->locked);
  ASSERT_TRUE(mark(make_id(1)));
  EXPECT_TRUE(mark(make_id(1))->locked);
}

// A lock that outlived its record, as after a rebuild, ends with the block that brings it back.
TEST_P(TxStoreConflicts, LockEndsWithARecordThatABlockBrings) {
  ASSERT_EQ(store().create(make_tx(1, {}, 1)), Outcome::kDone);
  ASSERT_TRUE(must(store()->lock(std::array{make_id(1)})).front().ok());
  store().force_erase(make_id(1));
  ASSERT_TRUE(mark(make_id(1))->locked);
  ASSERT_EQ(store().create(mined(make_tx(1, {}, 1), 200)), Outcome::kDone);
  EXPECT_FALSE(store().find(make_id(1))->locked);
  EXPECT_FALSE(mark(make_id(1)));
}

// The chain overrules a child that was found to be final: its parents still name it.
TEST_P(TxStoreConflicts, DeletedChildThatWasFinalIsPruned) {
  ASSERT_EQ(store().create(mined(make_tx(1, {}, 2), 200)), Outcome::kDone);
  ASSERT_EQ(store().create(make_tx(2, {}, 1)), Outcome::kDone);
  const NewTx child = make_tx(3, {{make_id(1), 0}, {make_id(2), 0}}, 1);
  ASSERT_EQ(store().create(mined(child, 200)), Outcome::kDone);
  ASSERT_EQ(store().spend(make_id(3)), Outcome::kDone);
  store().advance_to(206);
  store().force_stamp(make_id(1), 206);
  ASSERT_EQ(store().prune().kept, 1u);
  ASSERT_TRUE(store().output(make_id(1), 0).final);
  ASSERT_EQ(store().mark_conflicting(make_id(2)), Outcome::kDone);
  ASSERT_EQ(store().find(make_id(3))->state, State::kConflicting);
  store().advance_to(211);
  EXPECT_EQ(store().prune().deleted_conflicting, 2u);
  EXPECT_EQ(must(store()->absence(make_id(3))), Absence::kPruned);
}

// Giving back an output makes its transaction due, after what was due has been listed.
TEST_P(TxStoreConflicts, PassEndsWhenNothingIsDue) {
  const NewTx parent = mined(make_tx(1, {}, 1), 200);
  ASSERT_EQ(store().create(parent), Outcome::kDone);
  ASSERT_EQ(store().create(make_tx(2, {{parent.id, 0}}, 1)), Outcome::kDone);
  ASSERT_EQ(store().spend(make_id(2)), Outcome::kDone);
  ASSERT_EQ(must(store()->unset_mined(std::array{parent.id}, ref_at(200))).front().outcome,
            Outcome::kDone);
  ASSERT_EQ(store().set_mined(parent.id, ref_at(200)), Outcome::kDone);
  ASSERT_EQ(store().preserve(parent.id, 203), Outcome::kDone);
  store().force_stamp(parent.id, 200);  // overrides when it is looked at
  store().prune();                      // which puts it off beyond 203
  ASSERT_GT(*store().find(parent.id)->due_at, 203u);
  ASSERT_EQ(store().set_mined(make_id(2), ref_at(200)), Outcome::kDone);
  ASSERT_EQ(must(store()->unset_mined(std::array{make_id(2)}, ref_at(200))).front().outcome,
            Outcome::kDone);
  store().advance_to(204);  // the child is absent for too long, and the preservation is over
  EXPECT_EQ(store().prune().expired, 2u);
  EXPECT_FALSE(store().find(parent.id)->preserve_until);
  EXPECT_EQ(store().prune().expired, 0u);
}

}  // namespace
}  // namespace coffer::txstore::test
