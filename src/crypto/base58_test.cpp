#include "crypto/base58.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

// The only use of JSON in these tests: compiled here instead of linked.
#include <boost/json/src.hpp>

#include "base/file.h"
#include "base/result.h"
#include "base/test_data.h"
#include "crypto/bech32.h"

namespace coffer::crypto {
namespace {

boost::json::array load(const std::filesystem::path& path) {
  const Result<Bytes> text = read_file(path, 1u << 20);
  if (!text) throw std::runtime_error(text.error().message);
  return boost::json::parse(as_text(*text)).as_array();
}

std::string text_of(const boost::json::value& value) {
  return std::string(value.as_string().c_str(), value.as_string().size());
}

// What Bitcoin Core takes for an address or a key, as the script or key in hex; nothing if it takes
// it for neither.
std::optional<std::string> interpret(std::string_view text) {
  if (const auto segwit = decode_segwit(text)) {
    if (segwit->hrp != "bc" && segwit->hrp != "tb" && segwit->hrp != "bcrt") return std::nullopt;
    const unsigned opcode = segwit->version == 0 ? 0 : 0x50u + segwit->version;
    return fmt::format("{:02x}{:02x}{}", opcode, segwit->program.size(), to_hex(segwit->program));
  }
  const auto payload = base58check_decode(text);
  if (!payload || payload->empty()) return std::nullopt;
  const unsigned version = payload->front();
  const ByteView body = ByteView(*payload).subspan(1);
  if ((version == 0 || version == 111) && body.size() == 20)
    return "76a914" + to_hex(body) + "88ac";
  if ((version == 5 || version == 196) && body.size() == 20) return "a914" + to_hex(body) + "87";
  const bool compressed = body.size() == 33 && body.back() == 1;
  if ((version == 128 || version == 239) && (body.size() == 32 || compressed))
    return to_hex(body.first(32));
  return std::nullopt;
}

TEST(Base58, VectorsOfBitcoinCore) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/base58_encode_decode.json");
  const auto cases = load(path);
  ASSERT_GT(cases.size(), 10u);
  for (const auto& entry : cases) {
    const std::string hex = text_of(entry.at(0));
    const Bytes bytes = from_hex(hex).value();
    const std::string text = text_of(entry.at(1));
    EXPECT_EQ(base58_encode(bytes).value(), text) << hex;
    EXPECT_EQ(base58_decode(text).value(), bytes) << text;
  }
}

TEST(Base58, ValidKeysAndAddressesOfBitcoinCore) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/key_io_valid.json");
  const auto cases = load(path);
  ASSERT_GT(cases.size(), 50u);
  for (const auto& entry : cases)
    EXPECT_EQ(interpret(text_of(entry.at(0))), text_of(entry.at(1))) << text_of(entry.at(0));
}

TEST(Base58, InvalidKeysAndAddressesOfBitcoinCore) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/key_io_invalid.json");
  const auto cases = load(path);
  ASSERT_GT(cases.size(), 50u);
  for (const auto& entry : cases)
    EXPECT_EQ(interpret(text_of(entry.at(0))), std::nullopt) << text_of(entry.at(0));
}

TEST(Base58, GenesisAddress) {
  const auto payload = base58check_decode("1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
  ASSERT_TRUE(payload);
  EXPECT_EQ(to_hex(*payload), "0062e907b15cbf27d5425399ebf6f0fb50ebb88f18");
  EXPECT_EQ(base58check_encode(*payload).value(), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
}

TEST(Base58, ErrorsNameThePosition) {
  for (const char bad : {'0', 'O', 'I', 'l', ' ', '\0', '\xff'}) {
    std::string text = "1A1zP1eP5QGefi";
    text[9] = bad;
    const auto decoded = base58_decode(text);
    ASSERT_FALSE(decoded);
    EXPECT_EQ(decoded.error().code, Code::kInvalidInput);
    EXPECT_NE(decoded.error().message.find("position 9"), std::string::npos)
        << decoded.error().message;
  }
}

TEST(Base58, OneWrongCharacterBreaksTheChecksum) {
  const std::string good = "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa";
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string text = good;
    text[i] = text[i] == '2' ? '3' : '2';
    const auto decoded = base58check_decode(text);
    ASSERT_FALSE(decoded) << i;
    EXPECT_EQ(decoded.error().code, Code::kInvalidInput);
  }
  EXPECT_EQ(base58check_decode("").error().code, Code::kInvalidInput);
  EXPECT_EQ(base58check_decode("211").error().code, Code::kInvalidInput);
}

TEST(Base58, LengthIsBounded) {
  EXPECT_EQ(base58_decode(std::string(kMaxBase58Text + 1, 'z')).error().code, Code::kTooLarge);
  EXPECT_EQ(base58_decode(std::string(kMaxBase58Text, 'z')).error().code, Code::kTooLarge);
  EXPECT_EQ(base58_decode(std::string(kMaxBase58Bytes + 1, '1')).error().code, Code::kTooLarge);
  EXPECT_EQ(base58_encode(Bytes(kMaxBase58Bytes + 1)).error().code, Code::kTooLarge);
  for (const std::uint8_t byte : {std::uint8_t{0}, std::uint8_t{0xff}}) {
    const Bytes longest(kMaxBase58Bytes, byte);
    EXPECT_EQ(base58_decode(base58_encode(longest).value()).value(), longest);
  }
}

RC_GTEST_PROP(Base58, RoundTrip, (const Bytes& bytes)) {
  RC_ASSERT(base58_decode(base58_encode(bytes).value()).value() == bytes);
  RC_ASSERT(base58check_decode(base58check_encode(bytes).value()).value() == bytes);
}

}  // namespace
}  // namespace coffer::crypto
