// A disk that is full: what is refused has changed nothing, and when there is room it goes on.
#include "cli/wallet_commands.h"
#include "support/small_disk.h"

namespace coffer {
namespace {

class WalletDisk : public WalletCommands {
 protected:
  // The wallets are on the small disk, by their location; the rest is elsewhere.
  void SetUp() override { database_ = "sqlite:" + disk_.path() + "/wallet.db"; }
  Finished restore(const std::string& copy) const {
    return run({"db", "restore", copy, "--replace", "--data", data()},
               {"COFFER_WALLET_DATABASE=" + database_});
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(disk_.path()))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  void fill() {
    (void)disk_.fill(64u << 20);  // as much as there is
  }

  test::SmallDisk disk_{4};
};

TEST_F(WalletDisk, FullDiskRefusesAndLosesNothing) {
  COFFER_REQUIRE_MOUNTED_OR_SKIP(disk_);
  make_shop();
  (void)pay(1'000, 3);
  (void)pay(2'000, 4);
  const std::string copy = data("copy.db");
  ASSERT_EQ(run({"db", "backup", copy, "--data", data()}, {"COFFER_WALLET_DATABASE=" + database_})
                .exit_code,
            0);
  const std::string before = everything();
  const std::vector<std::string> names = files();
  fill();
  const std::vector<std::vector<std::string>> changes = {
      {"select", "shop", "2500", "--lock-id", kLock, "--for", "10m"},
      {"address", "shop"},
      {"create", "other"},
      {"import", "script", "shop", "51"}};
  for (const std::vector<std::string>& change : changes) expect_refusal(wallet(change), 3, "disk");
  expect_refusal(restore(copy), 3, "No space");
  ASSERT_TRUE(disk_.free());
  EXPECT_EQ(everything(), before);
  EXPECT_EQ(files(), names);
  for (const std::vector<std::string>& change : changes)
    EXPECT_EQ(wallet(change).exit_code, 0) << change.front();
  EXPECT_EQ(restore(copy).exit_code, 0);
  EXPECT_EQ(everything(), before);
}

}  // namespace
}  // namespace coffer
