// A parent, its children and a chain of a thousand blocks, where others delete too early or never.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "txstore/support/stores.h"

namespace coffer::txstore::test {

class TxStoreTraps : public StoreTest {
 protected:
  // Ids in either order: what comes first in a pass must not matter.
  static constexpr std::uint64_t kBefore = 5, kParent = 10, kAfter = 15, kOther = 20;

  void SetUp() override {
    StoreTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    begin();
  }

  void begin(const Options& options = {}) {
    store_.reset();
    store_ = std::make_unique<TestStore>(GetParam(), options);
    store_->begin_at(999);
  }

  // A parent that was final long ago.
  void create_parent(std::uint32_t outputs) {
    ASSERT_EQ(store_->create(mined(make_tx(kParent, {}, outputs), 500)), Outcome::kDone);
  }
  // A child that spends this output of it now; without outputs of its own that can be spent, if
  // it is to go by itself.
  void create_child(std::uint64_t number, std::uint32_t output, bool spendable = true) {
    NewTx child = make_tx(number, {{make_id(kParent), output}}, spendable ? 1 : 0);
    if (!spendable) add_op_return(child);
    ASSERT_EQ(store_->create(child), Outcome::kDone);
    ASSERT_EQ(store_->spend(child.id), Outcome::kDone);
  }
  void mine_at_tip(std::uint64_t number) {
    ASSERT_EQ(store_->set_mined(make_id(number), ref_at((*store_)->tip().height())),
              Outcome::kDone);
  }
  bool is_kept_at(std::uint64_t height) {
    store_->jump_to(height);
    store_->prune();
    return store_->is_stored(make_id(kParent));
  }

  std::unique_ptr<TestStore> store_;
};

}  // namespace coffer::txstore::test
