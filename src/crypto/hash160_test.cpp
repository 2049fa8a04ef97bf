#include "crypto/hash160.h"

#include <gtest/gtest.h>

namespace coffer::crypto {
namespace {

TEST(Hash160, KnownAnswers) {
  EXPECT_EQ(hash160({}).hex(), "b472a266d0bd89c13706a4132ccfb16f7c3b9fcb");
  // The public key of BIP 173's examples and its key hash.
  const Bytes key =
      from_hex("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798").value();
  EXPECT_EQ(hash160(key).hex(), "751e76e8199196d454941c45d1b3a323f1433bd6");
}

}  // namespace
}  // namespace coffer::crypto
