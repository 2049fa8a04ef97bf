// The decisions on the UTXO state that no random block meets by itself, one readable test each.
#include <gtest/gtest.h>

#include <coffer/chain/address.h>
#include "base/file.h"
#include "base/test_data.h"
#include "crypto/blake2b.h"
#include "utxo/keys.h"
#include "utxo/support/chain.h"

namespace coffer::utxo {
namespace {

const Bytes kOpReturn = {0x6a, 0x01};

TEST(UtxoRules, RepeatedCoinbaseOverwritesAndComesBackOnRollback) {  // U4
  for (const StoreType type : {StoreType::kClassic, StoreType::kMmr}) {
    Options options;
    options.store = type;
    Chain chain("bitcoin", options);
    ASSERT_TRUE(chain.add({}));
    ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {kScript}, .coinbase = true}}));
    ASSERT_TRUE(chain.add({}));
    const Digest before = chain.digest();
    ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {kScript}, .coinbase = true}}));
    const auto now = chain.state().get({id(1), 0}).value();
    ASSERT_TRUE(now);
    EXPECT_EQ(now->utxo.record.number.value, 3u) << "the later one stands";
    EXPECT_EQ(chain.digest().count, 1u);
    EXPECT_EQ(chain.state().by_address(kScript, {}).value().utxos.size(), 1u);
    chain.expect_sound();
    ASSERT_TRUE(chain.back(1));
    EXPECT_EQ(chain.digest(), before) << "the earlier one is there again";
    chain.expect_sound();
  }
}

TEST(UtxoRules, CoinbaseRepeatedThreeTimes) {  // U4
  Chain chain("bitcoin");
  const Chain::Tx coinbase{.id = id(1), .inputs = {}, .outputs = {kScript}, .coinbase = true};
  ASSERT_TRUE(chain.add({}));
  ASSERT_TRUE(chain.add({coinbase}));
  ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {}}}));
  const Digest spent = chain.digest();
  ASSERT_TRUE(chain.add({coinbase}));  // after it was spent
  ASSERT_TRUE(chain.add({coinbase}));  // and over the one before
  chain.expect_sound();
  ASSERT_TRUE(chain.back(2));
  EXPECT_EQ(chain.digest(), spent);
  chain.expect_sound();
}

// Far below the tip nothing is kept of what comes and goes within a block, not even its record.
TEST(UtxoRules, SpentCoinbaseRepeatsInSameCommit) {  // U4
  const Chain::Tx coinbase{.id = id(1), .inputs = {}, .outputs = {kScript}, .coinbase = true};
  const Chain::Tx spender{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {}};
  for (const StoreType type : {StoreType::kClassic, StoreType::kMmr}) {
    Options options;
    options.store = type;
    options.rollback_window = options.prune_depth = 2;
    Chain chain("bitcoin", options);
    ASSERT_TRUE(chain.add({}));
    ASSERT_TRUE(chain.add({coinbase}));
    ASSERT_TRUE(chain.add({coinbase, spender}, 0, 9));  // over the one on disk
    ASSERT_TRUE(chain.add({coinbase}, 0, 8));
    const auto flushed = chain.store().flush();
    ASSERT_TRUE(flushed) << flushed.error().message;
    EXPECT_EQ(chain.state().get({id(1), 0}).value()->utxo.record.number.value, 3u);
    EXPECT_EQ(chain.state().by_address(kScript, {}).value().utxos.size(), 1u);
    chain.expect_sound();
  }
}

TEST(UtxoRules, TransientOutputIsNotItsEarlierNamesake) {  // U4
  const Chain::Tx coinbase{.id = id(1), .inputs = {}, .outputs = {kScript}, .coinbase = true};
  const auto spender = [](std::uint8_t number) {
    return Chain::Tx{.id = id(number), .inputs = {{id(1), 0}}, .outputs = {}};
  };
  Options options;
  options.self_contained_delta = true;
  options.prune_depth = 2;
  Chain chain("bitcoin", options);
  ASSERT_TRUE(chain.add({}));
  ASSERT_TRUE(chain.add({coinbase}));
  const Digest first = chain.digest();
  ASSERT_TRUE(chain.add({spender(2)}));
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(chain.add({}));
  ASSERT_FALSE(chain.state().get({id(1), 0}).value()) << "forgotten, so only its delta knows it";
  ASSERT_TRUE(chain.add({coinbase}));
  ASSERT_TRUE(chain.add({coinbase, spender(3)}));  // comes and goes
  ASSERT_TRUE(chain.add({coinbase}));
  chain.expect_sound();
  ASSERT_TRUE(chain.back(7));
  EXPECT_EQ(chain.digest(), first);
  chain.expect_sound();
}

TEST(UtxoRules, UnspendableOutputsAndTheFirstCoinbaseAreCountedNotStored) {  // U4
  Chain chain("bitcoin");
  ASSERT_TRUE(chain.add({{.id = id(9), .inputs = {}, .outputs = {kScript}, .coinbase = true}}));
  ASSERT_TRUE(
      chain.add({{.id = id(1), .inputs = {}, .outputs = {kOpReturn, kScript}, .coinbase = true}}));
  EXPECT_EQ(chain.digest().count, 1u);
  EXPECT_TRUE(chain.unspent({id(1), 1}));
  EXPECT_EQ(chain.state().stats().value().unspendable, 2u);
}

TEST(UtxoRules, MoreOutputsThanTwoBytesCanCount) {  // U3
  Chain chain("bitcoin");
  ASSERT_TRUE(chain.add({}));
  Chain::Tx big{.id = id(1), .inputs = {}, .outputs = {}};
  big.outputs.assign(9'000, kScript);
  ASSERT_TRUE(chain.add({big}));
  EXPECT_EQ(outpoint_key(chain::Family::kBitcoin, {id(1), 70'000}).view().size(), 36u);
  EXPECT_EQ(outpoint_key(chain::Family::kCardano, {id(1), 7}).view().size(), 34u);
  EXPECT_EQ(read_outpoint(chain::Family::kBitcoin,
                          outpoint_key(chain::Family::kBitcoin, {id(1), 70'000}).bytes.data())
                .index,
            70'000u);
  // A page number deep inside and a cursor meet the same outputs.
  PageRequest by_number, by_cursor;
  by_number.page = 90;
  const Page last = chain.state().by_address(kScript, by_number).value();
  ASSERT_EQ(last.utxos.size(), 100u);
  EXPECT_TRUE(last.cursor.empty());
  std::size_t seen = 0;
  do {
    const Page page = chain.state().by_address(kScript, by_cursor).value();
    seen += page.utxos.size();
    by_cursor.cursor = page.cursor;
  } while (!by_cursor.cursor.empty());
  EXPECT_EQ(seen, 9'000u);
}

TEST(UtxoRules, CollateralReturnSpentLaterInTheSameBlock) {  // U4
  Chain chain("cardano");
  const Bytes address(57, 0x01);
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {address, address}}}));
  const Digest before = chain.digest();
  Chain::Tx invalid{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {address, address}};
  invalid.valid = false;
  invalid.collateral = {{id(1), 1}};
  invalid.collateral_return = address;
  // Its return sits after its two outputs, which never come to be.
  ASSERT_TRUE(chain.add({invalid, {.id = id(3), .inputs = {{id(2), 2}}, .outputs = {address}}}));
  EXPECT_EQ(chain.state().stats().value().missing_inputs, 0u);
  EXPECT_TRUE(chain.unspent({id(1), 0})) << "the inputs of an invalid transaction stay";
  EXPECT_FALSE(chain.unspent({id(1), 1}));
  EXPECT_FALSE(chain.unspent({id(2), 0}));
  EXPECT_TRUE(chain.unspent({id(3), 0}));
  const auto gone = chain.state().get({id(2), 2}).value();
  ASSERT_TRUE(gone && gone->spent);
  EXPECT_EQ(gone->spent->by, id(3));
  EXPECT_TRUE(gone->utxo.record.collateral_return);
  Bytes stored;
  const BlockDelta delta = chain.state().delta(BlockNumber(2), stored).value();
  ASSERT_EQ(delta.tx_flags.size(), 1u);
  EXPECT_TRUE(delta.tx_flags[0].had_collateral_return);
  ASSERT_TRUE(chain.back(1));
  EXPECT_EQ(chain.digest(), before);
  EXPECT_FALSE(chain.state().get({id(2), 2}).value());
}

TEST(UtxoRules, RollbackDeeperThanTheWindowChangesNothing) {  // U2
  Options options;
  options.rollback_window = options.prune_depth = 3;
  Chain chain("cardano", options);
  for (std::uint8_t i = 1; i <= 10; ++i)
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = {}, .outputs = {Bytes(57, i)}}}));
  const Digest before = chain.digest();
  const auto refused = chain.back(4);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kBeyondWindow);
  // Ordinals 0 to 9 are applied; undoing three leaves ordinal 6 as the tip.
  EXPECT_NE(refused.error().message.find("cannot undo 4 blocks: the UTXO state can go back 3, to "
                                         "ordinal 6;"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(chain.digest(), before);
  EXPECT_TRUE(chain.back(3));
  EXPECT_EQ(chain.digest().count, 7u);
}

TEST(UtxoRules, PartialRollbackUndoesWhatIsPossible) {  // U2
  Options options;
  options.rollback_window = options.prune_depth = 3;
  options.beyond_window = BeyondWindow::kPartial;
  Chain chain("cardano", options);
  for (std::uint8_t i = 1; i <= 10; ++i) {
    std::vector<chain::Outpoint> inputs;
    if (i == 6 || i == 9) inputs.push_back({id(static_cast<std::uint8_t>(i - 5)), 0});
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = inputs, .outputs = {Bytes(57, i)}}}));
  }
  ASSERT_TRUE(chain.back(6));
  // Created after block 4 is gone; what block 9 spent is back, what block 6 spent is not.
  EXPECT_EQ(chain.digest().count, 3u);
  EXPECT_FALSE(chain.unspent({id(1), 0}));
  EXPECT_TRUE(chain.unspent({id(4), 0}));
  EXPECT_FALSE(chain.unspent({id(5), 0}));
  chain.expect_sound();
  ASSERT_TRUE(chain.add({{.id = id(20), .inputs = {{id(4), 0}}, .outputs = {}}}));
  ASSERT_TRUE(chain.back(1));
  EXPECT_TRUE(chain.unspent({id(4), 0}));
}

// One block spent more than pruning clears at a time, and left the window half pruned.
TEST(UtxoRules, PartialRollbackLeavesNoTraceOfHalfPrunedBlocks) {  // U2
  Options options;
  options.rollback_window = options.prune_depth = 3;
  options.prune_batch_size = 1;
  options.beyond_window = BeyondWindow::kPartial;
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
  ASSERT_TRUE(chain.back(7));
  EXPECT_EQ(chain.digest().count, 0u);
  EXPECT_FALSE(chain.state().get({id(1), 8}).value());
  chain.expect_sound();
}

// A pass of pruning that met nothing but an outpoint that came again: it deletes nothing.
TEST(UtxoRules, ReportedRollbackDepthIsExact) {  // U2, U4
  const Chain::Tx coinbase{.id = id(1), .inputs = {}, .outputs = {kScript}, .coinbase = true};
  Options options;
  options.rollback_window = options.prune_depth = 2;
  options.prune_batch_size = 1;
  Chain chain("bitcoin", options);
  ASSERT_TRUE(chain.add({}));
  ASSERT_TRUE(chain.add({coinbase, {.id = id(2), .inputs = {}, .outputs = {kScript}}}));
  ASSERT_TRUE(chain.add({{.id = id(3), .inputs = {{id(1), 0}, {id(2), 0}}, .outputs = {}}}));
  ASSERT_TRUE(chain.add({coinbase}));
  ASSERT_TRUE(chain.add({}));
  const std::uint64_t possible = chain.state().stats().value().rollback_blocks;
  EXPECT_EQ(possible, 2u);
  EXPECT_TRUE(chain.back(possible));
  chain.expect_sound();
}

TEST(UtxoRules, IdlePruningReadsNothing) {  // U1, U5
  for (const bool self_contained : {false, true}) {
    Options options;
    options.rollback_window = 6;
    options.prune_depth = 2;
    options.prune_batch_size = 1;
    options.self_contained_delta = self_contained;
    Chain chain("cardano", options);
    ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {Bytes(57, 1)}}}));
    ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {Bytes(57, 2)}}}));
    // A block later each; remembered for pruneDepth, or for the window if only that can undo it.
    for (std::uint64_t later = 1; later <= 8; ++later) {
      ASSERT_TRUE(chain.add({}));
      const bool remembered = chain.state().get({id(1), 0}).value().has_value();
      EXPECT_EQ(remembered, later < (self_contained ? 2u : 6u)) << later;
    }
    EXPECT_EQ(chain.store().timings().prunes > 0, true);
    EXPECT_EQ(chain.state().stats().value().deltas, 6u);
    chain.expect_sound();
    if (self_contained) {
      ASSERT_TRUE(chain.back(6));  // further back than spent records are kept
      EXPECT_EQ(chain.digest().count, 1u);
    }
  }
}

TEST(UtxoRules, EpochBoundaryBlocksHaveAnOrdinalAndShareANumber) {  // E9
  Chain chain("cardano");
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {Bytes(57, 1)}}}, 1));
  ASSERT_TRUE(chain.add({}, 0, 0, true));
  ASSERT_TRUE(chain.add({{.id = id(2), .inputs = {{id(1), 0}}, .outputs = {Bytes(57, 2)}}}, 1));
  Bytes stored;
  const BlockDelta first = chain.state().delta(BlockNumber(1), stored).value();
  EXPECT_EQ(first.created.size(), 1u)
      << "the block itself, not the boundary that shares its number";
  const BlockDelta second = chain.state().delta(BlockNumber(2), stored).value();
  EXPECT_EQ(second.spent.size(), 1u);
  ASSERT_TRUE(chain.back(2));
  EXPECT_TRUE(chain.unspent({id(1), 0}));
  chain.expect_sound();
}

TEST(UtxoRules, AddressHashingToCredentialShowsNothing) {  // U11
  Chain chain("cardano");
  const Bytes victim(57, 0x01);
  const Hash224 owner = address_owner(victim);
  // A base address whose payment credential is the key under which the victim is indexed.
  Bytes attacker = {0x01};
  append(attacker, owner.view());
  attacker.resize(57, 0x77);
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {victim, attacker}}}));
  const Page of_victim = chain.state().by_address(victim, {}).value();
  ASSERT_EQ(of_victim.utxos.size(), 1u);
  EXPECT_TRUE(equal(of_victim.utxos[0].record.address, victim));
  const Page of_credential = chain.state().by_credential(owner, {}).value();
  ASSERT_EQ(of_credential.utxos.size(), 1u);
  EXPECT_TRUE(equal(of_credential.utxos[0].record.address, attacker));
}

TEST(UtxoRules, FirstAllegraBlockRemovesRedeemOutputs) {  // U6
  std::vector<chain::GenesisUtxo> genesis;
  for (std::uint8_t i = 1; i <= 3; ++i) {
    const Bytes key(32, i);
    const Bytes address = i < 3 ? chain::redeem_address(key, 764824073) : Bytes(57, 0x01);
    genesis.push_back({{crypto::blake2b_256(address), 0}, address, Amount(500), {}});
  }
  std::sort(genesis.begin(), genesis.end(),
            [](const auto& a, const auto& b) { return a.outpoint < b.outpoint; });
  for (const StoreType type : {StoreType::kClassic, StoreType::kMmr}) {
    Options options;
    options.store = type;
    Chain chain("cardano", options, genesis);
    EXPECT_EQ(chain.digest().count, 3u);
    const auto redeem = std::find_if(genesis.begin(), genesis.end(), [](const auto& g) {
      return chain::is_redeem_address(g.address);
    });
    ASSERT_TRUE(
        chain.add({{.id = id(1), .inputs = {redeem->outpoint}, .outputs = {Bytes(57, 2)}}}, 1));
    ASSERT_TRUE(chain.add({}, 2));
    const Digest before = chain.digest();
    EXPECT_EQ(before.count, 3u);
    ASSERT_TRUE(chain.add({}, 3));  // Allegra
    EXPECT_EQ(chain.digest().count, 2u);
    chain.expect_sound();
    ASSERT_TRUE(chain.add({}, 3));
    EXPECT_EQ(chain.digest().count, 2u);
    ASSERT_TRUE(chain.back(2));
    EXPECT_EQ(chain.digest(), before);
    ASSERT_TRUE(chain.add({}, 3));  // and again, on another branch
    EXPECT_EQ(chain.digest().count, 2u);
    ASSERT_TRUE(chain.back(3));
    EXPECT_EQ(chain.digest().count, 3u) << "Origin is the genesis";
  }
}

TEST(UtxoRules, GenesisFilesOfPreview) {  // U6
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "cardano/preview/genesis");
  const auto genesis = chain::load_genesis_utxos(directory).value();
  Chain chain("cardano", {}, genesis);
  EXPECT_EQ(chain.digest().count, genesis.size());
  for (const chain::GenesisUtxo& utxo : genesis) {
    EXPECT_EQ(utxo.outpoint.tx, crypto::blake2b_256(utxo.address));
    EXPECT_TRUE(chain.unspent(utxo.outpoint));
  }
}

}  // namespace
}  // namespace coffer::utxo
