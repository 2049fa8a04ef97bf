#include "txstore/references.h"

#include <gtest/gtest.h>

namespace coffer::txstore {
namespace {

Hash256 reference_id(std::uint8_t number) {
  Hash256 id{};
  id.fill(number);
  return id;
}

struct ReferenceTx {
  std::uint8_t id = 0;
  std::vector<std::uint8_t> inputs = {}, collateral = {}, references = {};  // output 0 of these
  bool valid = true;
};

// A block of these, whose inputs point into its own bytes.
chain::Block reference_block(const std::vector<ReferenceTx>& txs) {
  chain::Block block;
  block.family = chain::Family::kCardano;
  for (const ReferenceTx& made : txs)
    for (const auto* list : {&made.inputs, &made.collateral, &made.references})
      for (const std::uint8_t number : *list) append(block.storage, reference_id(number).view());
  std::size_t row = 0;
  for (const ReferenceTx& made : txs) {
    chain::Tx& tx = block.txs.emplace_back();
    tx.id = reference_id(made.id);
    tx.valid = made.valid;
    const auto add = [&](const std::vector<std::uint8_t>& list) {
      const chain::Range range{static_cast<std::uint32_t>(row),
                               static_cast<std::uint32_t>(list.size())};
      for (std::size_t i = 0; i < list.size(); ++i)
        block.inputs.push_back({block.storage.data() + 32 * row++, 0});
      return range;
    };
    tx.inputs = add(made.inputs);
    tx.collateral = add(made.collateral);
    tx.reference_inputs = add(made.references);
  }
  return block;
}

std::vector<Hash256> reference_ids(std::initializer_list<std::uint8_t> numbers) {
  std::vector<Hash256> ids;
  for (const std::uint8_t number : numbers) ids.push_back(reference_id(number));
  return ids;
}

class References : public testing::Test {
 protected:
  void add(const ReferenceTx& tx) { index_.add(reference_block({tx})); }
  // Who refers to these outputs of a block that spends them.
  std::vector<Hash256> referrers(const std::vector<std::uint8_t>& spent) const {
    return index_.referrers(reference_block({{.id = 200, .inputs = spent}}));
  }
  ReferenceIndex index_;
};

TEST_F(References, ValidRefersToReferenceInputsAndCollateral) {
  add({.id = 1, .inputs = {10}, .collateral = {11}, .references = {12}});
  EXPECT_EQ(referrers({10}), reference_ids({}));
  EXPECT_EQ(referrers({11}), reference_ids({1}));
  EXPECT_EQ(referrers({12}), reference_ids({1}));
}

TEST_F(References, InvalidRefersToItsInputsAndSpendsItsCollateral) {
  add({.id = 1, .inputs = {10}, .collateral = {11}, .references = {12}, .valid = false});
  EXPECT_EQ(referrers({10}), reference_ids({1}));
  EXPECT_EQ(referrers({11}), reference_ids({}));
  EXPECT_EQ(referrers({12}), reference_ids({1}));
}

TEST_F(References, BlockSpendsCollateralOfItsInvalidTransactions) {
  add({.id = 1, .references = {10, 11}});
  const auto block = [](bool valid) {
    return reference_block({{.id = 9, .inputs = {10}, .collateral = {12}, .valid = valid}});
  };
  EXPECT_EQ(index_.referrers(block(true)), reference_ids({1}));
  EXPECT_EQ(index_.referrers(block(false)), reference_ids({}));
}

TEST_F(References, EachReferrerIsGivenOnceInOrder) {
  add({.id = 2, .references = {10, 11}});
  add({.id = 1, .collateral = {10}, .references = {10}});
  add({.id = 3, .references = {12}});
  EXPECT_EQ(referrers({11, 10}), reference_ids({1, 2}));
}

TEST_F(References, RemovedRefersToNothing) {
  add({.id = 1, .references = {10, 11}});
  add({.id = 2, .references = {10}});
  index_.remove(reference_id(1));
  index_.remove(reference_id(7));
  EXPECT_EQ(referrers({10, 11}), reference_ids({2}));
  index_.remove(reference_id(2));
  EXPECT_TRUE(index_.empty());
}

TEST_F(References, AddedAgainCountsOnce) {
  add({.id = 1, .references = {10}});
  add({.id = 1, .references = {11}});
  EXPECT_EQ(referrers({10}), reference_ids({}));
  index_.remove(reference_id(1));
  EXPECT_TRUE(index_.empty());
}

}  // namespace
}  // namespace coffer::txstore
