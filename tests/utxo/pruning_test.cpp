// Pruning of the UTXO state: what a pass costs, and what it leaves behind (U2, U5, U6, U7).
#include <gtest/gtest.h>

#include <coffer/chain/address.h>
#include "crypto/blake2b.h"
#include "utxo/support/chain.h"

namespace coffer::utxo {
namespace {

std::uint64_t keys_in(Chain& chain, std::string_view column) {
  std::uint64_t count = 0;
  kv::Iterator it = chain.db().iterate(chain.db().column(column).value());
  for (it.seek_to_first(); it.valid(); it.next()) ++count;
  EXPECT_TRUE(it.status());
  return count;
}

TEST(UtxoPruning, NoPassIsMadeBeforeThereIsSomethingToPrune) {  // U5
  Options options;
  options.rollback_window = options.prune_depth = 6;
  Chain chain("cardano", options);
  for (int i = 0; i < 6; ++i) ASSERT_TRUE(chain.add({}));
  EXPECT_EQ(chain.store().timings().prunes, 0u);
  ASSERT_TRUE(chain.add({}));
  EXPECT_EQ(chain.store().timings().prunes, 1u);
  // A block that takes the place of another leaves nothing more behind.
  ASSERT_TRUE(chain.back(1));
  ASSERT_TRUE(chain.add({}));
  EXPECT_EQ(chain.store().timings().prunes, 1u);
}

// A smaller window leaves many blocks behind at once. Their deltas are read within the budget, also
// those of blocks that spent nothing.
TEST(UtxoPruning, BlocksWithoutSpendsCountInTheBudget) {  // U5
  Options options;
  Chain chain("cardano", options);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(chain.add({}));
  options.rollback_window = options.prune_depth = 10;
  options.prune_batch_size = 5;
  chain.reopen(options);
  std::uint64_t possible = chain.state().stats().value().rollback_blocks;
  ASSERT_EQ(possible, 100u);
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(chain.add({}));
    const std::uint64_t now = chain.state().stats().value().rollback_blocks;
    EXPECT_EQ(now, possible + 1 - 5) << "one more block, and five less";
    possible = now;
  }
  while (chain.state().stats().value().deltas > 10) ASSERT_TRUE(chain.add({}));
  chain.expect_sound();
}

// A block that is half pruned has its delta, and cannot be undone by it any more.
TEST(UtxoPruning, RollbackIntoAHalfPrunedBlockIsRefused) {  // U2
  Options options;
  options.rollback_window = options.prune_depth = 3;
  options.prune_batch_size = 1;
  Chain chain("bitcoin", options);
  ASSERT_TRUE(chain.add({}));
  Chain::Tx many{.id = id(1), .inputs = {}, .outputs = {}};
  many.outputs.assign(9, kScript);
  ASSERT_TRUE(chain.add({many}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(chain.add({}));
  Chain::Tx spender{.id = id(2), .inputs = {}, .outputs = {kScript}};
  for (std::uint32_t i = 0; i < 9; ++i) spender.inputs.push_back({id(1), i});
  ASSERT_TRUE(chain.add({spender}));
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(chain.add({}));
  ASSERT_FALSE(chain.state().get({id(1), 0}).value()) << "pruning has begun with it";
  ASSERT_TRUE(chain.state().get({id(1), 8}).value()) << "and is not done";
  ASSERT_EQ(chain.state().stats().value().rollback_blocks, 5u);
  const Digest before = chain.digest();
  const auto refused = chain.back(6);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBeyondWindow);
  EXPECT_EQ(chain.store().position().block_count(), 11u);
  EXPECT_EQ(chain.digest(), before);
  EXPECT_TRUE(chain.back(5));
  chain.expect_sound();
}

// Each block spends what the one before made, so a few leaves are live at any time.
TEST(UtxoPruning, SubtreesOfOldSpentLeavesAreDropped) {  // U7
  for (const std::uint64_t behind : {0, 100'000}) {
    Options options;
    options.store = StoreType::kMmr;
    options.rollback_window = options.prune_depth = 3;
    Chain chain("cardano", options);
    for (std::uint8_t i = 0; i < 100; ++i) {
      Chain::Tx tx{.id = id(static_cast<std::uint8_t>(i + 1)), .inputs = {}, .outputs = {}};
      tx.outputs.assign(8, Bytes(57, 1));
      for (std::uint32_t o = 0; i > 0 && o < 8; ++o) tx.inputs.push_back({id(i), o});
      ASSERT_TRUE(chain.add({tx}, 6, behind));
    }
    ASSERT_TRUE(chain.store().flush());
    EXPECT_EQ(chain.state().stats().value().leaves, 800u);
    // Without dropping there would be about 1,600 nodes.
    EXPECT_LT(keys_in(chain, "utxo_mmr_nodes"), 200u) << behind;
    chain.expect_sound();
  }
}

// Far below the tip a commit holds many blocks: what was spent in one of them is still on disk when
// the first Allegra block looks for redeem outputs.
TEST(UtxoPruning, RedeemOutputsSpentInTheSameCommitAreNotTakenAgain) {  // U6
  std::vector<chain::GenesisUtxo> genesis;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    const Bytes address = chain::redeem_address(Bytes(32, i), 764824073);
    genesis.push_back({{crypto::blake2b_256(address), 0}, address, Amount(500), {}});
  }
  std::sort(genesis.begin(), genesis.end(),
            [](const auto& a, const auto& b) { return a.outpoint < b.outpoint; });
  for (const StoreType type : {StoreType::kClassic, StoreType::kMmr}) {
    for (const std::uint64_t behind : {5, 100'000}) {  // with deltas, and without
      Options options;
      options.store = type;
      Chain chain("cardano", options, genesis);
      const Chain::Tx spender{
          .id = id(1), .inputs = {genesis[0].outpoint}, .outputs = {Bytes(57, 2)}};
      ASSERT_TRUE(chain.add({spender}, 1, behind));
      ASSERT_TRUE(chain.add({}, 3, behind));  // Allegra
      ASSERT_EQ(chain.state().stats().value().at.block_count(), 0u) << "both are held back";
      ASSERT_TRUE(chain.store().flush());
      EXPECT_EQ(chain.digest().count, 1u);
      EXPECT_EQ(chain.state().stats().value().unspent, 1u);
      EXPECT_TRUE(chain.state().stats().value().amount == U128{1000});
      chain.expect_sound();
      if (behind > 5) continue;
      const auto found = chain.state().get(genesis[0].outpoint).value();
      ASSERT_TRUE(found && found->spent);
      EXPECT_EQ(found->spent->by, id(1));
      ASSERT_TRUE(chain.back(1));
      EXPECT_EQ(chain.digest().count, 3u) << "two redeem outputs and the payment";
      ASSERT_TRUE(chain.back(1));
      EXPECT_EQ(chain.digest().count, 3u);
      chain.expect_sound();
    }
  }
}

}  // namespace
}  // namespace coffer::utxo
