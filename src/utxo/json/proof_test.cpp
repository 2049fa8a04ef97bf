// Proofs through JSON and back; what is altered or malformed is refused, never believed.
#include "utxo/json/proof.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/random.h"
#include "crypto/blake2b.h"

namespace coffer::utxo {
namespace {

namespace json = boost::json;

Hash256 hash(std::uint8_t tag, ByteView first, ByteView second = {}, std::uint64_t number = 0) {
  Bytes input = {tag};
  append_be64(input, number);
  append(input, first);
  append(input, second);
  return crypto::blake2b_256(input);
}

// A set of one output: every path is empty, and the root can be written down.
struct Sample {
  mmr::UnspentProof proof;
  Hash256 root{};
  explicit Sample(chain::Family family) {
    const std::size_t length = family == chain::Family::kBitcoin ? 36 : 34;
    proof.block_number = 7;
    proof.block_hash[0] = 0xaa;
    proof.size = 1;
    proof.outpoint.assign(length, 0);
    proof.outpoint[0] = 0x11;
    proof.outpoint[length - 1] = 3;
    proof.record = {0xa0};
    proof.chunk[0] = 1;
    Bytes data = proof.outpoint;
    append(data, proof.record);
    const Hash256 leaf = hash(0x00, crypto::blake2b_256(data).view());
    root = hash(0x03, leaf.view(), hash(0x10, proof.chunk).view(), 1);
  }
};

class Proofs : public testing::TestWithParam<chain::Family> {};

TEST_P(Proofs, JsonRoundTrip) {
  const Sample sample(GetParam());
  ASSERT_TRUE(check_proof(sample.proof, sample.root));
  const std::string text = proof_json(GetParam(), sample.proof);
  const auto read = parse_proof(text);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->family, GetParam());
  EXPECT_EQ(read->outpoint.index, 3u);
  EXPECT_EQ(proof_json(read->family, read->proof), text);
  EXPECT_TRUE(check_proof(read->proof, sample.root));
  const std::string tx(json::parse(text).at("tx_hash").as_string());
  EXPECT_TRUE(GetParam() == chain::Family::kBitcoin ? tx.ends_with("11") : tx.starts_with("11"));
}

TEST_P(Proofs, EveryFieldIsNeededAndOfItsType) {
  const Sample sample(GetParam());
  const json::object whole = json::parse(proof_json(GetParam(), sample.proof)).as_object();
  for (const auto& [key, value] : whole) {
    if (key == "block") continue;  // block_number again, for people
    for (const json::value& wrong : {json::value(nullptr), json::value(-1), json::value("zz"),
                                     json::value(json::object()), json::value(json::array{1})}) {
      json::object altered = whole;
      altered[key] = wrong;
      EXPECT_FALSE(parse_proof(json::serialize(altered))) << key << " " << wrong;
    }
    json::object without = whole;
    without.erase(key);
    const auto read = parse_proof(json::serialize(without));
    ASSERT_FALSE(read) << key;
    EXPECT_EQ(read.error().code, Code::kInvalidInput);
    EXPECT_NE(read.error().message.find(std::string(key)), std::string::npos);
  }
  for (const char* bad : {"", "{", "[]", "null", "{}", "[[[[[[[[]]]]]]]]"})
    EXPECT_FALSE(parse_proof(bad)) << bad;
}

// Readers differ in which of two they take.
TEST_P(Proofs, DuplicateFieldIsRefused) {
  std::string text = proof_json(GetParam(), Sample(GetParam()).proof);
  ASSERT_TRUE(parse_proof(text));
  text.insert(1, R"("output_index":4,)");
  EXPECT_EQ(parse_proof(text).error().message, "not a proof: no JSON object");
}

// Whatever a changed byte does, it never makes another proof hold.
TEST_P(Proofs, AlteredTextNeverProvesAnythingElse) {
  const Sample sample(GetParam());
  const std::string text = proof_json(GetParam(), sample.proof);
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const std::string_view alphabet = "0123456789abcdefg\"[]{},:";
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = text;
    changed[rng.below(changed.size())] = alphabet[rng.below(alphabet.size())];
    const auto read = parse_proof(changed);
    if (!read || !check_proof(read->proof, sample.root)) continue;
    EXPECT_EQ(read->proof.outpoint, sample.proof.outpoint) << changed;
    EXPECT_EQ(read->proof.record, sample.proof.record) << changed;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, Proofs,
                         testing::Values(chain::Family::kBitcoin, chain::Family::kCardano),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace coffer::utxo
