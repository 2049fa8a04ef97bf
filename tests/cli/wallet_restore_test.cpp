// What docs/wallet.md says of a restore: addresses given out since the backup are not given out
// again once each branch was told how far it had come.
#include "cli/wallet_commands.h"

namespace coffer {
namespace {

namespace bj = boost::json;

class WalletRestore : public WalletCommands {
 protected:
  Finished db(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "db");
    arguments.insert(arguments.end(), {"--data", data()});
    return run(arguments);
  }
  std::vector<std::string> new_addresses(int count, bool change = false) const {
    std::vector<std::string> made;
    for (int i = 0; i < count; ++i) {
      std::vector<std::string> line = {"address", "shop"};
      if (change) line.emplace_back("--change");
      made.push_back(str(as_json(line), "script_pub_key"));
    }
    return made;
  }
};

TEST_F(WalletRestore, NextIndexPerBranchKeepsAddressesFromBeingGivenOutTwice) {
  make_shop();
  (void)new_addresses(3);
  const std::string backup = data("monday.db");
  ASSERT_EQ(db({"backup", backup}).exit_code, 0);
  const std::vector<std::string> received = new_addresses(4), changed = new_addresses(2, true);
  ASSERT_EQ(db({"restore", backup, "--replace"}).exit_code, 0);

  const std::string receive = "wpkh(" + wallet::kTestnetKey + "/0/*)";
  const std::string change = "wpkh(" + wallet::kTestnetKey + "/1/*)";
  EXPECT_EQ(wallet({"import", "descriptor", "shop", receive, "--next-index", "7"}).exit_code, 0);
  EXPECT_EQ(
      wallet({"import", "descriptor", "shop", change, "--internal", "--next-index", "2"}).exit_code,
      0);
  EXPECT_EQ(std::ranges::count(received, new_addresses(1).front()), 0);
  EXPECT_EQ(std::ranges::count(changed, new_addresses(1, true).front()), 0);
  // Nothing was lost of what is between, and an index never goes back.
  EXPECT_EQ(wallet({"import", "descriptor", "shop", receive, "--next-index", "1"}).exit_code, 0);
  const bj::value branches = as_json({"descriptors", "shop"});
  std::vector<std::int64_t> next;
  for (const bj::value& one : branches.at("descriptors").as_array())
    next.push_back(one.at("next_index").to_number<std::int64_t>());
  EXPECT_EQ(next, (std::vector<std::int64_t>{8, 3}));
}

}  // namespace
}  // namespace coffer
