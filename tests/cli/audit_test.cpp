// What the command line writes into the audit log of a data directory that no daemon serves.
#include "base/file.h"
#include "cli/wallet_commands.h"

namespace coffer {
namespace {

class CommandAudit : public WalletCommands {
 protected:
  std::vector<boost::json::value> audit() const {
    std::vector<boost::json::value> lines;
    const auto bytes = read_file(data() + "/audit.log", 1u << 20);
    if (!bytes) return lines;
    std::istringstream text{std::string(as_text(*bytes))};
    for (std::string line; std::getline(text, line);) lines.push_back(boost::json::parse(line));
    return lines;
  }
};

TEST_F(CommandAudit, ChangesOfAllStoresAreInIt) {
  make_shop();
  ASSERT_EQ(wallet({"label", "shop", "tx", kZeros, "rent of May"}).exit_code, 0);
  ASSERT_NE(wallet({"lease", "shop", kZeros + "#0", "--lock-id", kLock, "--for", "10m"}).exit_code,
            0);
  ASSERT_EQ(wallet({"list"}).exit_code, 0);           // changes nothing
  ASSERT_EQ(wallet({"lease", "shop"}).exit_code, 2);  // nothing was tried
  ASSERT_EQ(run({"sync", "--to", "5", "--data", data()}).exit_code, 0);
  ASSERT_EQ(run({"utxo", "rollback", "3", "--data", data()}).exit_code, 0);
  const auto lines = audit();
  ASSERT_EQ(lines.size(), 5u);
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"wallet create", "done"},
      {"wallet import descriptor", "done"},
      {"wallet label", "done"},
      {"wallet lease", "not_found"},
      {"utxo rollback", "done"}};
  for (std::size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(str(lines[i], "command"), expected[i].first);
    EXPECT_EQ(str(lines[i], "result"), expected[i].second);
    EXPECT_EQ(lines[i].at("user").to_number<unsigned>(), ::getuid());
  }
  EXPECT_EQ(lines[3].at("change"), boost::json::parse(R"({"wallet":["shop"],"output":[")" + kZeros +
                                                      R"(#0"],"--for":["10m"]})"));
  EXPECT_EQ(lines[4].at("change"), boost::json::parse(R"({"block":["3"]})"));
  const std::string text(as_text(read_file(data() + "/audit.log", 1u << 20).value()));
  for (const char* hidden : {"rent of May", "tpub", "wpkh", kLock.c_str()})
    EXPECT_EQ(text.find(hidden), std::string::npos) << hidden;
}

TEST_F(CommandAudit, WithoutRoomForTheLineTheCommandSaysSo) {
  ASSERT_EQ(wallet({"create", "shop"}).exit_code, 0);
  fs::remove(data() + "/audit.log");
  fs::create_symlink("/dev/full", data() + "/audit.log");
  const Finished made = wallet({"create", "till"});
  EXPECT_NE(made.exit_code, 0);
  EXPECT_NE(made.err.find("done, but not in the audit log"), std::string::npos) << made.err;
  EXPECT_NE(text({"list"}).find("till"), std::string::npos);
}

}  // namespace
}  // namespace coffer
