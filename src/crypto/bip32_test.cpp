#include "crypto/bip32.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>

#include "base/file.h"
#include "base/test_data.h"
#include "crypto/base58.h"

namespace coffer::crypto {
namespace {

using Path = std::vector<std::uint32_t>;

// BIP32, test vectors 1 and 2: a public parent, unhardened steps, the child.
struct Step {
  const char* parent;
  Path path;
  const char* child;
};
const Step kSteps[] = {
    {"xpub68Gmy5EdvgibQVfPdqkBBCHxA5htiqg55crXYuXoQRKfDBFA1WEjWgP6LHhwBZeNK1VTsfTFUHCdrfp1bgwQ9xv5"
     "ski8PX9rL2dZXvgGDnw",
     {1},
     "xpub6ASuArnXKPbfEwhqN6e3mwBcDTgzisQN1wXN9BJcM47sSikHjJf3UFHKkNAWbWMiGj7Wf5uMash7SyYq527Hqck2"
     "AxYysAA7xmALppuCkwQ"},
    {"xpub6D4BDPcP2GT577Vvch3R8wDkScZWzQzMMUm3PWbmWvVJrZwQY4VUNgqFJPMM3No2dFDFGTsxxpG5uJh7n7epu4tr"
     "krX7x7DogT5Uv6fcLW5",
     {2, 1'000'000'000},
     "xpub6H1LXWLaKsWFhvm6RVpEL9P4KfRZSW7abD2ttkWP3SSQvnyA8FSVqNTEcYFgJS2UaFcxupHiYkro49S8yGasTvXE"
     "YBVPamhGW6cFJodrTHy"},
    {"xpub661MyMwAqRbcFW31YEwpkMuc5THy2PSt5bDMsktWQcFF8syAmRUapSCGu8ED9W6oDMSgv6Zz8idoc4a6mr8BDzTJ"
     "Y47LJhkJ8UB7WEGuduB",
     {0},
     "xpub69H7F5d8KSRgmmdJg2KhpAK8SR3DjMwAdkxj3ZuxV27CprR9LgpeyGmXUbC6wb7ERfvrnKZjXoUmmDznezpbZb7a"
     "p6r1D3tgFxHmwMkQTPH"},
    {"xpub6ASAVgeehLbnwdqV6UKMHVzgqAG8Gr6riv3Fxxpj8ksbH9ebxaEyBLZ85ySDhKiLDBrQSARLq1uNRts8RuJiHjaD"
     "MBU4Zn9h8LZNnBC5y4a",
     {1},
     "xpub6DF8uhdarytz3FWdA8TvFSvvAh8dP3283MY7p2V4SeE2wyWmG5mg5EwVvmdMVCQcoNJxGoWaU9DCWh89LojfZ537"
     "wTfunKau47EL2dhHKon"},
};
// Vectors 3 and 4 are about leading zeros; their steps are hardened, so only the text is tried.
const char* const kWithZeros[] = {
    "xpub661MyMwAqRbcEZVB4dScxMAdx6d4nFc9nvyvH3v4gJL378CSRZiYmhRoP7mBy6gSPSCYk6SzXPTf3ND1cZAceL7SfJ"
    "1Z3GC8vBgp2epUt13",
    "xpub661MyMwAqRbcGczjuMoRm6dXaLDEhW1u34gKenbeYqAix21mdUKJyuyu5F1rzYGVxyL6tmgBUAEPrEz92mBXjByMRi"
    "Jdba9wpnN37RLLAXa",
};
// Vector 5: each is refused, and for this.
const std::pair<const char*, const char*> kInvalid[] = {
    {"xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6Txnt3siSujt9RCVYsx4qHZGc62TG4Mcv"
     "MGcAUjeuwZdduYEvFn",
     "33 bytes beginning with 02 or 03"},
    {"xpub661no6RGEX3uJkY4bNnPcw4URcQTrSibUZ4NqJEw5eBkv7ovTwgiT91XX27VbEXGENhYRCf7hyEbWrR3FewATdCEe"
     "bj6znwMfQkhRYHRLpJ",
     "depth 0 that has a parent"},
    {"xpub661MyMwAuDcm6CRQ5N4qiHKrJ39Xe1R1NyfouMKTTWcguwVcfrZJaNvhpebzGerh7gucBvzEQWRugZDuDXjNDRmXz"
     "SZe4c7mnTK97pTvGS8",
     "depth 0 that has a parent"},
    {"DMwo58pR1QLEFihHiXPVykYB6fJmsTeHvyTp7hRThAtCX8CvYzgPcn8XnmdfHPmHJiEDXkTiJTVV9rHEBUem2mwVbb"
     "NfvT2MTcAqj3nesx8uBf9",
     "neither xpub nor tpub"},
    {"xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6Q5JXayek4PRsn35jii4veMimro1xefsM"
     "58PgBMrvdYre8QyULY",
     "no point of secp256k1"},
    // The private key of vector 1 behind a public prefix.
    {"xpub661MyMwAqRbcEYS8w7XLSVeEsBXy79zSzH1J8vCdxAZningWLdN3zgtU6LBpB85b3D2yc8sfvZU521AAwdZafEz7m"
     "nzBBsz4wKY5fTtTQBm",
     "private key"},
};

ExtendedPublicKey parsed(std::string_view text) {
  return ExtendedPublicKey::parse(text).value();
}

TEST(Bip32, DerivesTheVectorsOfTheBip) {
  for (const Step& step : kSteps) {
    const auto child = parsed(step.parent).derive(step.path);
    ASSERT_TRUE(child) << child.error().message;
    EXPECT_EQ(child->text(), step.child);
    EXPECT_EQ(*child, parsed(step.child));
  }
}

TEST(Bip32, TextRoundTrip) {
  for (const char* text : kWithZeros) EXPECT_EQ(parsed(text).text(), text);
  ExtendedPublicKey key = parsed(kSteps[0].parent);
  EXPECT_EQ(key.depth, 1);
  EXPECT_EQ(key.child, kHardened);
  EXPECT_EQ(key.parent.hex(), "3442193e");  // as BIP32 says of vector 1's master key
  key.version = kTpubVersion;
  EXPECT_TRUE(key.text().starts_with("tpub"));
  EXPECT_EQ(parsed(key.text()), key);
}

TEST(Bip32, ChildrenNameTheFingerprintOfTheirParent) {
  for (const Step& step : kSteps) {
    const ExtendedPublicKey parent = parsed(step.parent);
    EXPECT_EQ(parent.derive(7).value().parent, parent.fingerprint());
  }
}

TEST(Bip32, RefusesInvalidVectors) {
  for (const auto& [text, reason] : kInvalid) {
    const auto result = ExtendedPublicKey::parse(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, Code::kInvalidInput);
    EXPECT_NE(result.error().message.find(reason), std::string::npos) << result.error().message;
  }
}

TEST(Bip32, HardenedStepsAndTheDeepestKeyHaveNoChild) {
  ExtendedPublicKey key = parsed(kSteps[0].parent);
  const auto hardened = key.derive(kHardened | 44);
  ASSERT_FALSE(hardened);
  EXPECT_EQ(hardened.error().code, Code::kInvalidInput);
  EXPECT_NE(hardened.error().message.find("44h needs the private key"), std::string::npos);
  EXPECT_FALSE(key.derive(Path{0, kHardened}));
  key.depth = 254;
  ASSERT_TRUE(key.derive(0));
  EXPECT_FALSE(key.derive(Path{0, 0}));
}

TEST(Bip32, RefusesPrivateKeysWithoutRepeatingThem) {
  const std::string_view keys[] = {
      // vector 1's master key; the same with a typing error; WIFs of two kinds; one mistyped
      ("xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3T"
       "GtRBeJgk33yuGBxrMPHi"),
      ("xprv9s21ZrQH143K3QTDL4LXw2F7HEK3wJUD2nW2nRk4stbPy6cq3jPPqjiChkVvvNKmPGJxWUtg6LnF5kejMRNNU3T"
       "GtRBeJgk33yuGBxrMPHL"),
      "L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY1",
      "5KYZdUEo39z3FPrtuX2QbbwGnNP5zTd7yyr2SC1j299sBCnWjss",
      "L4rK1yDtCWekvXuE6oXD9jCYfFNV2cWRpVuPLBcCU2z8TrisoyY2",
  };
  for (const std::string_view text : keys) {
    EXPECT_TRUE(is_private_key(text));
    const auto result = ExtendedPublicKey::parse(text);
    ASSERT_FALSE(result);
    EXPECT_NE(result.error().message.find("private key"), std::string::npos);
    for (std::size_t i = 0; i + 8 <= text.size(); ++i)
      EXPECT_EQ(result.error().message.find(text.substr(i, 8)), std::string::npos);
  }
  EXPECT_FALSE(is_private_key(""));
  EXPECT_FALSE(is_private_key(kSteps[0].parent));
  EXPECT_FALSE(is_private_key("1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH"));
  EXPECT_FALSE(
      is_private_key("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"));
}

TEST(Bip32, RefusesOtherPrefixes) {
  ExtendedPublicKey key = parsed(kSteps[0].parent);
  key.version = 0x04b24746;  // zpub
  const auto result = ExtendedPublicKey::parse(key.text());
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().message.find("04b24746"), std::string::npos);
}

RC_GTEST_PROP(Bip32, OneWrongCharacterIsNoticed, ()) {
  std::string text = kSteps[0].parent;
  const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
  const char other = *rc::gen::arbitrary<char>();
  RC_PRE(other != text[at]);
  text[at] = other;
  RC_ASSERT(!ExtendedPublicKey::parse(text));
}

// ---- the same, from shared data ----

namespace json = boost::json;

json::value load_vectors(const std::filesystem::path& path) {
  return json::parse(as_text(read_file(path, 1u << 20).value()));
}

// "m/0H/1" and so on; nothing but the last step matters here.
std::uint32_t last_step(std::string_view path) {
  std::string_view step = path.substr(path.rfind('/') + 1);
  const bool hardened = step.ends_with('H');
  if (hardened) step.remove_suffix(1);
  return static_cast<std::uint32_t>(std::stoul(std::string(step))) | (hardened ? kHardened : 0);
}

TEST(Bip32, DerivesEveryVector) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/btclib/bip32_test_vectors.json");
  const json::value file = load_vectors(path);
  int derived = 0, refused = 0;
  for (const auto& [seed, chain] : file.as_object()) {
    const json::array& keys = chain.as_array();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::string_view text = keys[i].at(1).as_string(), secret = keys[i].at(2).as_string();
      EXPECT_EQ(parsed(text).text(), text);
      EXPECT_TRUE(is_private_key(secret));
      EXPECT_FALSE(ExtendedPublicKey::parse(secret));
      if (i == 0) continue;
      const std::uint32_t step = last_step(keys[i].at(0).as_string());
      const auto child = parsed(keys[i - 1].at(1).as_string()).derive(step);
      ASSERT_EQ(child.has_value(), (step & kHardened) == 0);
      EXPECT_EQ(child ? child->text() : std::string(text), text);
      ++(child ? derived : refused);
    }
  }
  EXPECT_EQ(derived, 6);
  EXPECT_EQ(refused, 7);
}

TEST(Bip32, RefusesEveryInvalidKey) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/btclib/bip32_invalid_keys.json");
  const json::value file = load_vectors(path);
  EXPECT_EQ(file.as_array().size(), 16u);
  for (const json::value& row : file.as_array()) {
    const std::string_view text = row.at(0).as_string();
    const auto result = ExtendedPublicKey::parse(text);
    ASSERT_FALSE(result) << text;
    EXPECT_EQ(result.error().code, Code::kInvalidInput);
    EXPECT_EQ(result.error().message.find(text.substr(4, 8)), std::string::npos);
    EXPECT_TRUE(is_private_key(text) || !text.starts_with("xprv"));
  }
}

}  // namespace
}  // namespace coffer::crypto
