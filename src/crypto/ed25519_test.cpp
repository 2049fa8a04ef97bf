#include "crypto/ed25519.h"

#include <gtest/gtest.h>

namespace coffer::crypto {
namespace {

Bytes hex(std::string_view text) {
  return from_hex(text).value();
}

// RFC 8032, 7.1.
struct Vector {
  const char *seed, *key, *message, *signature;
};
constexpr Vector kVectors[] = {
    {"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
     "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", "",
     "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
     "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b"},
    {"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
     "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c", "72",
     "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
     "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"},
};

TEST(Ed25519, AgreesWithTheStandard) {
  for (const Vector& each : kVectors) {
    const auto key = Ed25519Key::from_seed(hex(each.seed));
    ASSERT_TRUE(key);
    EXPECT_EQ(key->public_key().hex(), each.key);
    const Ed25519Signature signature = key->sign(hex(each.message));
    EXPECT_EQ(signature.hex(), each.signature);
    EXPECT_TRUE(verify_ed25519(key->public_key(), hex(each.message), signature));
  }
}

TEST(Ed25519, OtherMessageKeyOrSignatureIsRefused) {
  const Ed25519Key key = Ed25519Key::generate(), other = Ed25519Key::generate();
  EXPECT_NE(key.public_key(), other.public_key());
  const Bytes message = hex("00112233");
  const Ed25519Signature signature = key.sign(message);
  EXPECT_TRUE(verify_ed25519(key.public_key(), message, signature));
  EXPECT_FALSE(verify_ed25519(other.public_key(), message, signature));
  EXPECT_FALSE(verify_ed25519(key.public_key(), hex("00112234"), signature));
  for (std::size_t at = 0; at < signature.size(); ++at) {
    Ed25519Signature changed = signature;
    changed[at] ^= 1;
    EXPECT_FALSE(verify_ed25519(key.public_key(), message, changed)) << at;
  }
}

TEST(Ed25519, KeyIsTheSameAfterItsFile) {
  const Ed25519Key key = Ed25519Key::generate();
  const auto again = Ed25519Key::from_seed(key.seed());
  ASSERT_TRUE(again);
  EXPECT_EQ(again->public_key(), key.public_key());
  const auto refused = Ed25519Key::from_seed(key.seed().first(31));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace coffer::crypto
