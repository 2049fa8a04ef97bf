#include <coffer/chain/decode.h>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/random.h"
#include "base/test_data.h"

namespace coffer::chain {
namespace {

// Bitcoin's regtest block 0.
constexpr std::string_view kGenesis =
    "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c"
    "3e"
    "67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f2002000000010100000001000000000000000000"
    "00"
    "00000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d6573203033"
    "2f"
    "4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420"
    "66"
    "6f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909"
    "a6"
    "7962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000";

TEST(Network, KnowsItsNamesAndTimes) {
  EXPECT_EQ(find_network("bitcoin", "mainnet").value().bitcoin.segwit_hrp, "bc");
  EXPECT_EQ(
      find_network("bitcoin", "moon").error().message,
      "no bitcoin network 'moon'; use one of mainnet, testnet, testnet4, signet, regtest, devnet");
  EXPECT_EQ(find_network("doge", "mainnet").error().code, Code::kUsage);
  const Network mainnet = find_network("cardano", "mainnet").value();
  EXPECT_EQ(mainnet.epoch_of(Slot(4'492'800)), 208u);  // the first Shelley slot, 29 July 2020
  EXPECT_EQ(mainnet.time_of(Slot(4'492'800)), 1596059091);
  EXPECT_EQ(mainnet.epoch_of(Slot(21'599)), 0u);
  EXPECT_EQ(mainnet.epoch_of(Slot(21'600)), 1u);
  EXPECT_GT(mainnet.time_of(Slot(~0ull)), 0);
}

class Genesis : public testing::Test {
 protected:
  const Network network_ = find_network("bitcoin", "regtest").value();
  Bytes raw_ = from_hex(kGenesis).value();
};

TEST_F(Genesis, DecodesWithHashesAndCoinbase) {
  const Block block = decode(network_, raw_).value();
  EXPECT_EQ(block.hash, network_.genesis);
  EXPECT_TRUE(block.prev.is_zero());
  EXPECT_EQ(block.time_unix_s, 1296688602);
  ASSERT_EQ(block.txs.size(), 1u);
  EXPECT_TRUE(block.txs[0].coinbase);
  EXPECT_TRUE(block.spent_by(block.txs[0]).empty());
  EXPECT_EQ(display(Family::kBitcoin, block.txs[0].id),
            "4a5e1e4baab89f3a32518a88c31bc87f618f76673e2cc77ab2127b7afdeda33b");
  EXPECT_EQ(block.outputs_of(block.txs[0])[0].amount.value, 5'000'000'000u);
}

TEST_F(Genesis, EveryTruncationIsAnErrorWithAPosition) {
  for (std::size_t size = 0; size < raw_.size(); ++size) {
    auto cut =
        decode(network_, Bytes(raw_.begin(), raw_.begin() + static_cast<std::ptrdiff_t>(size)));
    ASSERT_FALSE(cut) << size;
    EXPECT_EQ(cut.error().code, Code::kInvalidInput);
    EXPECT_NE(cut.error().message.find(" at byte "), std::string::npos) << cut.error().message;
  }
  raw_.push_back(0);
  EXPECT_EQ(decode(network_, raw_).error().message,
            "block: bytes after the last transaction at byte 285");
}

TEST_F(Genesis, ChangedTransactionBreaksTheMerkleRoot) {
  raw_[200] ^= 1;
  EXPECT_EQ(decode(network_, raw_).error().message,
            "block: merkle root does not match its transactions");
  EXPECT_TRUE(decode(network_, raw_, {.hash = true, .verify = false}));
}

TEST_F(Genesis, RepeatedTransactionIsNoticed) {  // CVE-2012-2459
  Bytes twice = raw_;
  twice[80] = 2;
  twice.insert(twice.end(), raw_.begin() + 81, raw_.end());
  EXPECT_FALSE(decode(network_, twice));
}

TEST_F(Genesis, BlockBeyondTheBoundIsRefused) {
  Block block;
  const Bytes huge((8u << 20) + 1);
  EXPECT_EQ(decode_into(block, network_, huge).error().code, Code::kTooLarge);
}

TEST(ByronBody, IsCheckedAgainstItsProof) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "cardano/pallas/byron2.block");
  std::string hex(as_text(read_file(file, 10u << 20).value()));
  while (!hex.empty() && std::isspace(static_cast<unsigned char>(hex.back()))) hex.pop_back();
  Bytes raw = from_hex(hex).value();
  const Network mainnet = find_network("cardano", "mainnet").value();
  const Block block = decode(mainnet, raw).value();
  ASSERT_FALSE(block.txs.empty());
  const auto within = [&](ByteView view) {
    return static_cast<std::size_t>(view.data() - block.raw.data()) + view.size() - 1;
  };
  for (const ByteView part :
       {block.outputs_of(block.txs[0])[0].address.first(20), block.txs[0].witnesses.first(30)}) {
    Bytes changed = raw;
    changed[within(part)] ^= 1;
    EXPECT_FALSE(decode(mainnet, changed));
  }
}

// A block whose coinbase was stripped of its witness commits to nothing any more.
TEST(WitnessCommitment, CoversEveryWitness) {
  COFFER_REQUIRE_DATA_OR_SKIP(file, "bitcoin/regtest/kernel_regtest_blocks_1_to_206.hex");
  const Network regtest = find_network("bitcoin", "regtest").value();
  const Bytes text = read_file(file, 10u << 20).value();
  std::string_view rest = as_text(text);
  int changed = 0;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back()))) line.pop_back();
    if (line.empty()) continue;
    const Bytes raw = from_hex(line).value();
    const Block block = decode(regtest, raw).value();
    const Tx& last = block.txs.back();
    if (block.txs.size() < 2 || !last.segwit) continue;
    const auto offset = [&](ByteView view) {
      return static_cast<std::ptrdiff_t>(view.data() - block.raw.data());
    };
    Bytes flipped = raw;  // the last byte of the last witness
    flipped[flipped.size() - 5] ^= 1;
    EXPECT_FALSE(decode(regtest, flipped));
    // Marker, flag and witness of the coinbase out; ids and merkle root stay.
    const Tx& coinbase = block.txs.front();
    const std::ptrdiff_t start = offset(coinbase.raw),
                         core_end = offset(coinbase.core) +
                                    static_cast<std::ptrdiff_t>(coinbase.core.size());
    Bytes stripped = flipped;
    stripped.erase(stripped.begin() + core_end,
                   stripped.begin() + start + static_cast<std::ptrdiff_t>(coinbase.raw.size()) - 4);
    stripped.erase(stripped.begin() + start + 4, stripped.begin() + start + 6);
    EXPECT_EQ(decode(regtest, stripped).error().message,
              "block: witness data without a commitment to it");
    ++changed;
  }
  EXPECT_GT(changed, 0);
}

// Real blocks of every era, up to 20 kB.
std::vector<Bytes> cardano_blocks(const std::filesystem::path& directory) {
  std::vector<Bytes> blocks;
  for (const char* name : {"byron2", "byron7", "shelley1", "allegra1", "alonzo3", "alonzo8",
                           "babbage6", "babbage5", "conway3", "conway8"}) {
    std::string hex(
        as_text(read_file(directory / (std::string(name) + ".block"), 10u << 20).value()));
    while (!hex.empty() && std::isspace(static_cast<unsigned char>(hex.back()))) hex.pop_back();
    blocks.push_back(from_hex(hex).value());
  }
  return blocks;
}

TEST(DecodeDamage, EveryTruncationOfTenBlocksIsAnError) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "cardano/pallas");
  const Network network = find_network("cardano", "preprod").value();
  Block block;
  for (const Bytes& good : cardano_blocks(directory)) {
    ASSERT_LE(good.size(), 20'000u);
    ASSERT_TRUE(decode_into(block, network, good));
    for (std::size_t size = 0; size < good.size(); ++size) {
      const auto cut = decode_into(block, network, ByteView(good).first(size));
      ASSERT_FALSE(cut) << size;
      ASSERT_EQ(cut.error().code, Code::kInvalidInput);
    }
  }
}

TEST(DecodeDamage, RandomMutationsNeverCrash) {
  COFFER_REQUIRE_DATA_OR_SKIP(directory, "cardano/pallas");
  const bool long_run = ::getenv("COFFER_LONG") != nullptr;
  const int rounds = long_run ? 2'000'000 : 20'000;
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const Network network = find_network("cardano", "preprod").value();
  const std::vector<Bytes> blocks = cardano_blocks(directory);
  Block block;
  int errors = 0;
  for (int i = 0; i < rounds; ++i) {
    Bytes bad = blocks[rng.below(blocks.size())];
    for (std::uint64_t flips = rng.between(1, 4); flips > 0; --flips)
      bad[rng.below(bad.size())] = static_cast<std::uint8_t>(rng());
    if (rng.one_in(4)) bad.resize(rng.below(bad.size()));
    errors +=
        !decode_into(block, network, bad, {.hash = true, .verify = rng.one_in(2)}).has_value();
  }
  EXPECT_GT(errors, rounds / 3);
}

}  // namespace
}  // namespace coffer::chain
