#include "token/details.h"

#include <gtest/gtest.h>

namespace coffer::token {
namespace {

// The vector of docs/formats/token_log.md.
TEST(TokenDetails, HashIsOfSaltAndText) {
  DetailSalt salt;
  for (std::size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::uint8_t>(i);
  EXPECT_EQ(hash_detail(salt, "für Käse").hex(),
            "36694de93f6f953fe7bf65e41d18fccc4ab9e59e3fc83d58031d466a2777ca7f");
}

TEST(TokenDetails, EverySealHasItsOwnSalt) {
  const SealedDetail one = seal_detail("rent"), other = seal_detail("rent");
  EXPECT_NE(one.salt, other.salt);
  EXPECT_NE(one.hash, other.hash);
  EXPECT_EQ(one.hash, hash_detail(one.salt, "rent"));
}

}  // namespace
}  // namespace coffer::token
