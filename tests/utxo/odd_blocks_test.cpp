// Blocks that are valid but unusual: zero quantities, deep nesting, reference scripts.
#include <gtest/gtest.h>

#include <coffer/chain/decode.h>
#include <coffer/utxo/store.h>
#include "base/result.h"
#include "base/temp_dir.h"
#include "codec/cbor_reader.h"
#include "support/cardano_block.h"
#include "support/deep_cbor.h"

namespace coffer {
namespace {

using codec::CborWriter;
using test::CardanoBlock;
using test::CardanoTx;

const Bytes kAddress = from_hex("60" + std::string(56, '7')).value();

chain::Network devnet() {
  return chain::find_network("cardano", "devnet").value();
}

Bytes policy(std::uint8_t number) {
  return Bytes(28, number);
}

// A UTXO state of one store type in a directory of its own.
struct State {
  explicit State(utxo::StoreType type) {
    options.store = type;
    options.rollback_window = options.prune_depth = 10;
    db = kv::Database::open({.path = dir.path() / "db", .columns = utxo::columns(options)}).value();
    store = utxo::Store::open(*db, network, options, {}).value();
  }
  void add(const CardanoBlock& block) {
    auto decoded = std::make_shared<chain::Block>(chain::decode(network, block.raw).value());
    const Ordinal ordinal(store->position().block_count());
    ASSERT_TRUE(store->on_block({ordinal, decoded, false, 0}));
    ASSERT_TRUE(store->flush());
  }
  std::string dump() {
    std::string lines;
    EXPECT_TRUE(store->state().for_each([&](const utxo::Utxo& utxo) {
      lines += utxo::dump_line(network.family, utxo) + "\n";
      return true;
    }));
    return lines;
  }
  const chain::Network network = devnet();
  utxo::Options options;
  TempDir dir;
  std::unique_ptr<kv::Database> db;
  std::unique_ptr<utxo::Store> store;
};

class OddBlocks : public testing::TestWithParam<utxo::StoreType> {};

// {0: inputs, 1: [output …], 2: fee}, the outputs as given.
CardanoTx tx_with_outputs(const std::vector<Bytes>& outputs) {
  CardanoTx tx;
  CborWriter writer(tx.body);
  writer.map(3).uint(0).array(1).array(2).bytes(Bytes(32, 9)).uint(0);
  writer.uint(1).array(outputs.size());
  for (const Bytes& output : outputs) writer.raw(output);
  writer.uint(2).uint(170'000);
  return tx;
}

// [address, [coin, {p1: {a: 0, b: 5}, p2: {}, p3: {c: 0}, p0: {d: 7}}]]
Bytes output_with_zeros() {
  Bytes out;
  CborWriter w(out);
  w.array(2).bytes(kAddress).array(2).uint(2'000'000).map(4);
  w.bytes(policy(1)).map(2).bytes(as_bytes("a")).uint(0).bytes(as_bytes("b")).uint(5);
  w.bytes(policy(2)).map(0);
  w.bytes(policy(3)).map(1).bytes(as_bytes("c")).uint(0);
  w.bytes(policy(0)).map(1).bytes(as_bytes("d")).uint(7);
  return out;
}

TEST_P(OddBlocks, ZeroQuantitiesAreNoAssets) {  // U15
  const CardanoBlock block = test::build(
      {.number = 0, .slot = 5, .txs = {tx_with_outputs({output_with_zeros()})}, .era = 4});
  const chain::Block decoded = chain::decode(devnet(), block.raw).value();
  const auto assets = decoded.assets_of(decoded.outputs[0]);
  ASSERT_EQ(assets.size(), 2u);
  EXPECT_EQ(as_text(assets[0].name), "b");  // in chain order
  EXPECT_EQ(as_text(assets[1].name), "d");

  State state(GetParam());
  state.add(block);
  const chain::Outpoint outpoint{decoded.txs[0].id, 0};
  const auto found = state.store->state().get(outpoint).value();
  ASSERT_TRUE(found);
  EXPECT_EQ(found->utxo.record.assets.size(), 2u);
  const auto balance = state.store->state().balance(kAddress).value();
  EXPECT_EQ(balance.assets.size(), 2u);
  EXPECT_NE(
      state.dump().find(fmt::format("|{}.64=7,{}.62=5|", to_hex(policy(0)), to_hex(policy(1)))),
      std::string::npos)
      << state.dump();
  EXPECT_TRUE(utxo::verify(*state.db, state.network, nullptr));
}

TEST(OddBlocksMint, ZeroQuantitiesAreNotMinted) {
  CardanoTx tx = tx_with_outputs({output_with_zeros()});
  tx.body[0] = 0xa4;
  CborWriter(tx.body).uint(9).map(1).bytes(policy(1)).map(2);
  CborWriter(tx.body).bytes(as_bytes("a")).uint(0).bytes(as_bytes("b")).integer(-5);
  const CardanoBlock block = test::build({.number = 0, .slot = 5, .txs = {tx}, .era = 4});
  const chain::Block decoded = chain::decode(devnet(), block.raw).value();
  ASSERT_EQ(decoded.minted.size(), 1u);
  EXPECT_EQ(decoded.minted[0].quantity, -5);
}

TEST_P(OddBlocks, NestingIsBoundedByTheBlockAlone) {  // E12
  for (const std::size_t depth : test::kDepths) {
    SCOPED_TRACE(depth);
    State state(GetParam());
    std::uint64_t number = 0;
    Hash256 prev{};
    for (const test::DeepCase& deep : test::deep_cases(depth)) {
      SCOPED_TRACE(deep.where);
      const CardanoBlock block = test::build(
          {.number = number, .slot = 20 * (number + 1), .prev = prev, .txs = {deep.tx}});
      state.add(block);
      const auto found = state.store->state().get({deep.tx.id(), 0}).value();
      ASSERT_TRUE(found);
      EXPECT_TRUE(equal(found->utxo.record.inline_datum, deep.inline_datum));
      EXPECT_TRUE(equal(found->utxo.record.script_ref, deep.script_ref));
      if (!deep.script_ref.empty()) {
        EXPECT_EQ(to_hex(found->utxo.record.script_hash), deep.script_hash.hex());
      }
      prev = block.hash;
      ++number;
    }
    EXPECT_TRUE(utxo::verify(*state.db, state.network, nullptr));
    const std::string all = state.dump();
    ASSERT_TRUE(state.store->rollback_to(bus::Position::origin()));
    EXPECT_EQ(state.dump(), "");
    EXPECT_NE(all, "");
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, OddBlocks,
                         testing::Values(utxo::StoreType::kClassic, utxo::StoreType::kMmr),
                         testing::PrintToStringParamName());

TEST(OddBlocksScripts, ReferenceScriptThatCannotBeReadIsRefused) {
  // Not [language, script]: cut short, no array, three items, bytes behind it, a language beyond a
  // byte.
  for (const char* bad :
       {"", "82", "8200", "41ff", "8301410203", "82014102ff", "820141", "82190100410a"}) {
    Bytes output;
    CborWriter(output).map(3).uint(0).bytes(kAddress).uint(1).uint(1'000'000);
    CborWriter(output).uint(3).tag(24).bytes(from_hex(bad).value());
    const CardanoBlock block =
        test::build({.number = 0, .slot = 5, .txs = {tx_with_outputs({output})}});
    const auto decoded = chain::decode(devnet(), block.raw);
    ASSERT_FALSE(decoded) << bad;
    EXPECT_NE(decoded.error().message.find("a reference script that is not [language, script]"),
              std::string::npos)
        << decoded.error().message;
  }
}

}  // namespace
}  // namespace coffer
