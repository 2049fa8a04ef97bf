#include "node/block_json.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <coffer/chain/decode.h>
#include "codec/wire.h"
#include "crypto/sha256.h"

namespace coffer::node {
namespace {

namespace bj = boost::json;

// A regtest block with nothing but a coinbase that pays 50 BTC and, if asked, commits to witnesses.
Bytes coinbase_block(bool commitment, bool witness) {
  const auto output = [](Bytes& to, std::uint64_t amount, std::string_view script) {
    const Bytes bytes = from_hex(script).value();
    to.resize(to.size() + 8);
    store_le(to.data() + to.size() - 8, amount);
    to.push_back(static_cast<std::uint8_t>(bytes.size()));
    append(to, bytes);
  };
  Bytes core = {1};
  core.resize(core.size() + 32);  // of no transaction
  append(core, from_hex("ffffffff"
                        "020101"
                        "ffffffff")
                   .value());  // index, scriptSig, sequence
  core.push_back(commitment ? 2 : 1);
  output(core, 5'000'000'000, "51");
  const Hash256 nonce{};
  if (commitment) {
    // The root over the one coinbase is zeros, and so is the nonce.
    const Hash256 digest = crypto::sha256d(Bytes(64));
    output(core, 0, "6a24aa21a9ed" + digest.hex());
  }
  const Bytes version = {1, 0, 0, 0}, lock_time(4);
  Bytes stripped = version;
  append(stripped, core);
  append(stripped, lock_time);
  Bytes tx = version;
  if (witness) append(tx, from_hex("0001").value());
  append(tx, core);
  if (witness) {
    append(tx, from_hex("0120").value());
    append(tx, nonce.view());
  }
  append(tx, lock_time);
  Bytes block(80);
  const Hash256 id = crypto::sha256d(stripped);
  std::copy(id.begin(), id.end(), block.begin() + 36);
  block.push_back(1);
  append(block, tx);
  return block;
}

bj::value decoded(const Bytes& raw) {
  const chain::Network network = chain::find_network("bitcoin", "regtest").value();
  chain::Block block;
  const Result<> verified = chain::decode_into(block, network, raw);
  if (!verified) {
    EXPECT_TRUE(chain::decode_into(block, network, raw, {.hash = true, .verify = false}));
  }
  return bj::parse(block_json(network, block, verified.has_value()).value());
}

TEST(BlockJson, WitnessCommitmentIsNullWithoutWitnesses) {
  EXPECT_TRUE(decoded(coinbase_block(false, false)).at("witness_commit_ok").is_null());
  // A block that was stored or served without its witnesses: there is nothing to compare.
  EXPECT_TRUE(decoded(coinbase_block(true, false)).at("witness_commit_ok").is_null());
  EXPECT_EQ(decoded(coinbase_block(true, true)).at("witness_commit_ok"), bj::value(true));
  // Witnesses that nothing commits to are no better than wrong ones.
  EXPECT_EQ(decoded(coinbase_block(false, true)).at("witness_commit_ok"), bj::value(false));
}

TEST(BlockJson, EachCommitmentIsJudgedByItself) {
  Bytes raw = coinbase_block(true, true);
  raw[raw.size() - 5] ^= 1;  // the witness, which no id covers
  EXPECT_EQ(decoded(raw).at("merkle_ok"), bj::value(true));
  EXPECT_EQ(decoded(raw).at("witness_commit_ok"), bj::value(false));
  raw = coinbase_block(true, true);
  raw[40] ^= 1;  // the header's merkle root
  EXPECT_EQ(decoded(raw).at("merkle_ok"), bj::value(false));
  EXPECT_EQ(decoded(raw).at("witness_commit_ok"), bj::value(true));
}

TEST(BlockJson, BitcoinAmountsAreStrings) {  // U9
  const bj::value block = decoded(coinbase_block(true, true));
  const bj::array& outputs = block.at("txs").at(0).at("out").as_array();
  EXPECT_EQ(outputs.at(0).at(0), bj::value("5000000000"));
  EXPECT_EQ(outputs.at(1).at(0), bj::value("0"));
}

TEST(BlockJson, CardanoAmountsAreStrings) {  // U9
  const Bytes policy(28, 7), name = {'c'}, address(29, 0x60);
  const Bytes body = from_hex("a105a141e01b0020000000000001").value();  // one withdrawal
  chain::Block block;
  block.family = chain::Family::kCardano;
  block.era = 7;
  block.assets = {{policy.data(), name, ~std::uint64_t{0}}};
  block.minted = {{policy.data(), name, -5}};
  chain::Output output;
  output.address = address;
  output.amount = Amount(9'007'199'254'740'993);  // one more than a double can hold
  output.assets = {0, 1};
  block.outputs = {output, output};
  chain::Tx& tx = block.txs.emplace_back();
  tx.raw = body;
  tx.outputs = {0, 1};
  tx.minted = {0, 1};
  tx.collateral_return = 1;
  tx.fee = Amount(170'000);
  tx.total_collateral = Amount(300'000);
  tx.has_total_collateral = true;
  const chain::Network network = chain::find_network("cardano", "preview").value();
  const bj::value shown = bj::parse(block_json(network, block, true).value()).at("txs").at(0);
  EXPECT_EQ(shown.at("outputs").at(0).at("lovelace"), bj::value("9007199254740993"));
  EXPECT_EQ(shown.at("outputs").at(0).at("assets").at(0).at(2), bj::value("18446744073709551615"));
  EXPECT_EQ(shown.at("collateral_return").at("lovelace"), bj::value("9007199254740993"));
  EXPECT_EQ(shown.at("fee"), bj::value("170000"));
  EXPECT_EQ(shown.at("total_collateral"), bj::value("300000"));
  EXPECT_EQ(shown.at("mint").at(0).at(2), bj::value("-5"));
  EXPECT_EQ(shown.at("withdrawals").at(0).at(1), bj::value("9007199254740993"));
}

TEST(BlockJson, WithdrawalsThatCannotBeReadAreAnError) {
  // {0: [], 1: [], 2: 0, 5: withdrawals}; the decoder passes over key 5.
  const Bytes body = from_hex(
                         "a4008001800200"
                         "05"
                         "07")
                         .value();
  chain::Block block;
  block.family = chain::Family::kCardano;
  block.era = 7;
  block.txs.emplace_back().raw = body;
  const auto shown = block_json(chain::find_network("cardano", "preview").value(), block, true);
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().code, Code::kInvalidInput);
  EXPECT_NE(shown.error().message.find("withdrawals: expected a map"), std::string::npos)
      << shown.error().message;
}

}  // namespace
}  // namespace coffer::node
