// The token commands on a full disk: one line that says so, and nothing changes.
#include "support/process.h"
#include "support/small_disk.h"

namespace coffer {
namespace {

TEST(TokenDisk, FullDiskRefusesAndLosesNothing) {
  test::SmallDisk disk(8);
  COFFER_REQUIRE_MOUNTED_OR_SKIP(disk);
  const auto token = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "token");
    arguments.insert(arguments.end(), {"--data", disk.path() + "/data"});
    return test::run(std::move(arguments));
  };
  const std::vector<std::string> pay = {"transfer", "system_account_communitytoken", "alice", "5"};
  ASSERT_EQ(token({"init"}).exit_code, 0);
  ASSERT_EQ(token({"user", "create", "alice"}).exit_code, 0);
  ASSERT_EQ(token(pay).exit_code, 0);
  const std::string before = token({"history"}).out;
  (void)disk.fill(64u << 20);  // as much as there is
  for (const std::vector<std::string>& change : std::vector<std::vector<std::string>>{
           pay, {"user", "create", "bob"}, {"issue", "7"}, {"log"}})
    test::expect_refusal(token(change), 3, "the disk is full");
  test::expect_refusal(token({"init", "town"}), 3, "space");
  ASSERT_TRUE(disk.free());
  EXPECT_EQ(token({"history"}).out, before);
  EXPECT_EQ(token({"check"}).exit_code, 0);
  EXPECT_EQ(token(pay).exit_code, 0);
}

}  // namespace
}  // namespace coffer
