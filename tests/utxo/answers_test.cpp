// Proofs, pages and positions of the UTXO state, one readable test each.
#include <gtest/gtest.h>

#include <coffer/chain/address.h>
#include "base/file.h"
#include "base/test_data.h"
#include "crypto/blake2b.h"
#include "utxo/keys.h"
#include "utxo/support/chain.h"

namespace coffer::utxo {
namespace {

TEST(UtxoAnswers, RootDependsOnTheChainAlone) {  // U7
  std::optional<Hash256> first;
  for (const std::uint64_t behind : {0, 1, 50}) {
    Options options;
    options.store = StoreType::kMmr;
    options.rollback_window = options.prune_depth = behind == 50 ? 3 : 30;
    options.self_contained_delta = behind == 1;
    Chain chain("cardano", options);
    for (std::uint8_t i = 1; i <= 20; ++i) {
      std::vector<chain::Outpoint> inputs;
      if (i > 5) inputs.push_back({id(static_cast<std::uint8_t>(i - 5)), 0});
      ASSERT_TRUE(
          chain.add({{.id = id(i), .inputs = inputs, .outputs = {Bytes(57, i), Bytes(29, 0x61)}}},
                    6, behind > 20u - i ? behind - i : behind));
    }
    ASSERT_TRUE(chain.store().flush());
    const Root root = chain.state().root(std::nullopt).value();
    if (!first) first = root.root;
    EXPECT_EQ(root.root, *first) << "behind " << behind;
    EXPECT_EQ(root.leaves, 40u);
    chain.expect_sound();
  }
}

TEST(UtxoAnswers, ProofCanBeHadForAnyBlockOfTheWindow) {  // U7
  Options options;
  options.store = StoreType::kMmr;
  options.rollback_window = options.prune_depth = 8;
  Chain chain("cardano", options);
  for (std::uint8_t i = 1; i <= 20; ++i) {
    std::vector<chain::Outpoint> inputs;
    if (i > 5) inputs.push_back({id(static_cast<std::uint8_t>(i - 5)), 0});
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = inputs, .outputs = {Bytes(57, i)}}}));
  }
  const auto hash = [](const std::uint8_t* data, std::size_t size) -> mmr::Digest {
    return crypto::blake2b_256({data, size});
  };
  // The output of block 10 was spent by block 15.
  for (std::uint64_t block = 13; block <= 20; ++block) {
    const Root root = chain.state().root(BlockNumber(block)).value();
    EXPECT_EQ(root.block_hash, chain.block_hash(block - 1));
    mmr::Digest digest = root.root;
    const auto proof = chain.state().prove({id(10), 0}, BlockNumber(block));
    EXPECT_EQ(proof.has_value(), block < 15) << block;
    if (proof) {
      EXPECT_TRUE(mmr::check(*proof, digest, hash)) << block;
      EXPECT_EQ(proof->block_number, block);
      EXPECT_EQ(Hash256::from(proof->block_hash.data()), chain.block_hash(block - 1));
    } else {
      EXPECT_EQ(proof.error().code, Code::kNotFound);
    }
  }
  EXPECT_EQ(chain.state().root(BlockNumber(12)).error().code, Code::kNotFound);
  EXPECT_EQ(chain.state().root(BlockNumber(21)).error().code, Code::kNotFound);
  Chain classic("cardano");
  EXPECT_EQ(classic.state().root(std::nullopt).error().reason, "needs_mmr");
  EXPECT_EQ(classic.state().prove({id(1), 0}).error().code, Code::kConflict);
}

TEST(UtxoAnswers, FiltersApplyBeforePaging) {  // U8
  Chain chain("cardano");
  const Bytes address(57, 0x01);
  for (std::uint8_t i = 1; i <= 30; ++i)
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = {}, .outputs = {address}}}));
  PageRequest request;
  request.from_slot = Slot(220);
  request.to_slot = Slot(400);
  request.count = 4;
  request.page = 3;
  const Page third = chain.state().by_address(address, request).value();
  ASSERT_EQ(third.utxos.size(), 2u);
  EXPECT_EQ(third.utxos[0].outpoint.tx, id(19));
  EXPECT_TRUE(third.cursor.empty());
  request.descending = true;
  request.page = 1;
  EXPECT_EQ(chain.state().by_address(address, request).value().utxos[0].outpoint.tx, id(20));
  for (const char* bad : {"x", "a00", "d"}) {
    PageRequest wrong;
    wrong.cursor = bad;
    EXPECT_EQ(chain.state().by_address(address, wrong).error().code, Code::kInvalidInput) << bad;
  }
  PageRequest many;
  many.count = 101;
  EXPECT_EQ(chain.state().by_address(address, many).error().code, Code::kInvalidInput);
}

TEST(UtxoAnswers, SelfContainedDeltaProvesPrunedOutputs) {  // U1, U7
  Options options;
  options.store = StoreType::kMmr;
  options.rollback_window = 8;
  options.prune_depth = 2;
  options.self_contained_delta = true;
  Chain chain("cardano", options);
  for (std::uint8_t i = 1; i <= 20; ++i) {
    std::vector<chain::Outpoint> inputs;
    if (i > 5) inputs.push_back({id(static_cast<std::uint8_t>(i - 5)), 0});
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = inputs, .outputs = {Bytes(57, i)}}}));
  }
  const auto hash = [](const std::uint8_t* data, std::size_t size) -> mmr::Digest {
    return crypto::blake2b_256({data, size});
  };
  // The output of block 10 was spent by block 15, and forgotten after block 17.
  ASSERT_FALSE(chain.state().get({id(10), 0}).value());
  for (std::uint64_t block = 13; block <= 20; ++block) {
    const mmr::Digest digest = chain.state().root(BlockNumber(block)).value().root;
    const auto proof = chain.state().prove({id(10), 0}, BlockNumber(block));
    EXPECT_EQ(proof.has_value(), block < 15) << block;
    if (proof) {
      EXPECT_TRUE(mmr::check(*proof, digest, hash)) << block;
    }
  }
}

TEST(UtxoAnswers, PositionAfterARollbackHasTheNumberOfItsBlock) {  // E9
  Options options;
  options.rollback_window = options.prune_depth = 3;
  options.beyond_window = BeyondWindow::kPartial;
  Chain chain("cardano", options);
  for (std::uint8_t i = 1; i <= 10; ++i)
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = {}, .outputs = {Bytes(57, i)}}}));
  ASSERT_TRUE(chain.back(6));
  EXPECT_EQ(chain.state().stats().value().at.block_count(), 4u);
  EXPECT_EQ(chain.state().stats().value().number.value, 4u);
  // A boundary block shares its number with the block before, also at the edge of the window.
  options.beyond_window = BeyondWindow::kRefuse;
  Chain edge("cardano", options);
  for (std::uint8_t i = 1; i <= 4; ++i) ASSERT_TRUE(edge.add({}, 1));
  ASSERT_TRUE(edge.add({}, 0, 0, true));
  for (std::uint8_t i = 1; i <= 2; ++i) ASSERT_TRUE(edge.add({}, 1));
  ASSERT_TRUE(edge.back(3));
  EXPECT_EQ(edge.state().stats().value().at.block_count(), 4u);
  EXPECT_EQ(edge.state().stats().value().number.value, 4u);
}

TEST(UtxoAnswers, PageTooFarInIsRefusedAlsoBehindAFilter) {  // U8, E11
  Chain chain("bitcoin");
  ASSERT_TRUE(chain.add({}));
  Chain::Tx big{.id = id(1), .inputs = {}, .outputs = {}};
  big.outputs.assign(9'000, kScript);
  ASSERT_TRUE(chain.add({big}));
  big.id = id(2);
  ASSERT_TRUE(chain.add({big}));
  PageRequest request;
  request.asset = AssetFilter{};  // that nothing holds
  request.page = 2;
  const auto page = chain.state().by_address(kScript, request);
  // Going on from a cursor would skip nothing: page 1 would come as page 2.
  EXPECT_TRUE(!page || page->cursor.empty());
}

TEST(UtxoAnswers, AccumulatorIncludesHeldBlocks) {
  Options options;
  options.store = StoreType::kMmr;
  options.cache_bytes = 1u << 20;
  Chain chain("cardano", options);
  // Outputs that live for one block: few coins at any time, but a leaf for each.
  std::uint64_t held = 0;
  for (std::uint32_t i = 0; i < 60; ++i) {
    Chain::Tx tx{.id = id(static_cast<std::uint8_t>(i + 1)), .inputs = {}, .outputs = {}};
    tx.outputs.assign(1'000, Bytes(57, 1));
    if (i > 0)
      for (std::uint32_t o = 0; o < 1'000; ++o)
        tx.inputs.push_back({id(static_cast<std::uint8_t>(i)), o});
    ASSERT_TRUE(chain.add({tx}, 6, 100'000));
    const std::uint64_t height = chain.state().stats().value().at.block_count();
    held = std::max(held, i + 1 - height);
  }
  // 60,000 leaves and as many nodes above them, some 100 bytes each.
  EXPECT_LT(held, 20u);
}

TEST(UtxoAnswers, VerifyReadsRollbackRecords) {
  Chain chain("cardano");
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {Bytes(57, 1)}}}));
  ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {Bytes(57, 2)}}}));
  chain.expect_sound();
  const kv::Column spent = chain.db().column("utxo_spent").value();
  const OutpointKey key = outpoint_key(chain::Family::kCardano, {id(1), 0});
  Bytes record = *chain.db().get(spent, key.view()).value();
  record.resize(record.size() - 3);
  kv::Batch batch;
  batch.put(spent, key.view(), record);
  ASSERT_TRUE(chain.db().commit(batch));
  const auto network = chain::find_network("cardano", "devnet").value();
  EXPECT_FALSE(verify(chain.db(), network, nullptr));
}

TEST(UtxoAnswers, VerifyFindsSpentRecordsThatNoDeltaAccountsFor) {
  Chain chain("cardano");
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {Bytes(57, 1)}}}));
  ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {Bytes(57, 2)}}}));
  const kv::Column spent = chain.db().column("utxo_spent").value();
  const OutpointKey key = outpoint_key(chain::Family::kCardano, {id(1), 0});
  const OutpointKey stray = outpoint_key(chain::Family::kCardano, {id(9), 0});
  kv::Batch batch;
  batch.put(spent, stray.view(), *chain.db().get(spent, key.view()).value());
  ASSERT_TRUE(chain.db().commit(batch));
  const auto verified = chain.verify();
  ASSERT_FALSE(verified);
  EXPECT_NE(verified.error().message.find("utxo_spent holds 2 records"), std::string::npos)
      << verified.error().message;
}

TEST(UtxoAnswers, VerifyFindsDeltasOutsideOfTheirRange) {
  for (const std::uint64_t ordinal : {0, 9}) {
    Options options;
    options.rollback_window = options.prune_depth = 3;
    Chain chain("cardano", options);
    for (int i = 0; i < 6; ++i) ASSERT_TRUE(chain.add({}));
    chain.expect_sound();
    const kv::Column deltas = chain.db().column("utxo_block_delta").value();
    kv::Batch batch;
    batch.put(deltas, ordinal_key(Ordinal(ordinal)),
              *chain.db().get(deltas, ordinal_key(Ordinal(5))).value());
    ASSERT_TRUE(chain.db().commit(batch));
    EXPECT_FALSE(chain.verify()) << ordinal;
  }
}

// A record that decodes is not yet the one that was spent. Where the deltas are compact and there
// is no accumulator, nothing else holds it; its place in time is all that can be compared.
TEST(UtxoAnswers, VerifyFindsASpentRecordOfOtherContent) {
  enum class Altered { kAddress, kSpender, kSlot };
  struct Case {
    StoreType store;
    bool self_contained;
    Altered altered;
  };
  for (const Case& c : {Case{StoreType::kMmr, false, Altered::kAddress},
                        Case{StoreType::kClassic, true, Altered::kAddress},
                        Case{StoreType::kClassic, true, Altered::kSpender},
                        Case{StoreType::kClassic, false, Altered::kSlot}}) {
    Options options;
    options.store = c.store;
    options.self_contained_delta = c.self_contained;
    Chain chain("cardano", options);
    ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {Bytes(57, 0x61)}}}));
    ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {Bytes(57, 2)}}}));
    chain.expect_sound();
    const kv::Column column = chain.db().column("utxo_spent").value();
    const OutpointKey key = outpoint_key(chain::Family::kCardano, {id(1), 0});
    const Bytes stored = *chain.db().get(column, key.view()).value();
    const SpentRecord spent = decode_spent(stored).value();
    Bytes before(spent.before.begin(), spent.before.end());
    Hash256 by = spent.by;
    if (c.altered == Altered::kAddress) before[40] ^= 1;
    if (c.altered == Altered::kSpender) by[0] ^= 1;
    const Slot slot(spent.slot.value + (c.altered == Altered::kSlot ? 1 : 0));
    Bytes other;
    encode_spent(other, by,
                 {chain::Family::kCardano, slot, spent.number, spent.block_hash.view(),
                  spent.epoch.value_or(0), spent.time_unix_s},
                 before);
    ASSERT_EQ(other.size(), stored.size());
    ASSERT_TRUE(decode_record(decode_spent(other).value().before));
    kv::Batch batch;
    batch.put(column, key.view(), other);
    ASSERT_TRUE(chain.db().commit(batch));
    EXPECT_FALSE(chain.verify()) << static_cast<int>(c.altered) << c.self_contained;
  }
}

TEST(UtxoAnswers, CountingAddressesCanBeStopped) {
  Chain chain("cardano");
  Chain::Tx tx{.id = id(1), .inputs = {}, .outputs = {}};
  for (std::uint32_t i = 0; i < 9'000; ++i) {
    Bytes address(57, 0x61);
    store_be32(address.data() + 1, i);
    tx.outputs.push_back(address);
  }
  ASSERT_TRUE(chain.add({tx}));
  EXPECT_EQ(chain.state().count_addresses().value(), 9'000u);
  int asked = 0;
  const auto stopped = chain.state().count_addresses([&] { return ++asked < 2; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Code::kCancelled);
  EXPECT_EQ(asked, 2);
}

}  // namespace
}  // namespace coffer::utxo
