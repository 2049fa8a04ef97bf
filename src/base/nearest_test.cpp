#include "base/nearest.h"

#include <gtest/gtest.h>

#include <vector>

namespace coffer {
namespace {

const std::vector<std::string> kNames = {"http.listen", "http.token", "chain", "network"};

TEST(Nearest, FindsTheNameWithFewestEdits) {
  const std::pair<const char*, const char*> cases[] = {
      {"chian", "chain"},        {"netwrk", "network"},
      {"networks", "network"},   {"http.lsten", "http.listen"},
      {"listen", "http.listen"}, {"token", "http.token"}};
  for (const auto& [wrong, meant] : cases) EXPECT_EQ(nearest(wrong, kNames), meant) << wrong;
}

TEST(Nearest, FindsNothingWhenMoreThanHalfWouldChange) {
  EXPECT_EQ(nearest("zzzzz", kNames), std::nullopt);
  EXPECT_EQ(nearest("chxyz", kNames), std::nullopt);
  EXPECT_EQ(nearest("", kNames), std::nullopt);
  EXPECT_EQ(nearest("chain", {}), std::nullopt);
}

TEST(Nearest, LongTextIsNotLookedAt) {
  const std::vector<std::string> names = {std::string(64, 'a'), std::string(65, 'a')};
  EXPECT_EQ(nearest(std::string(64, 'a'), names), names[0]);
  EXPECT_EQ(nearest(std::string(65, 'a'), names), std::nullopt);
}

TEST(Nearest, FirstOfEquallyNearNamesWins) {
  const std::vector<std::string> names = {"bat", "cat"};
  EXPECT_EQ(nearest("rat", names), "bat");
}

}  // namespace
}  // namespace coffer
