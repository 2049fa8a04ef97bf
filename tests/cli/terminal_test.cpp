// What others wrote, in labels, memos and names, cannot act on the terminal of who reads it: no
// command moves the cursor, turns text around or prints a line that it did not mean.
#include "base/printable.h"
#include "cli/wallet_commands.h"

namespace coffer {
namespace {

namespace bj = boost::json;

// U+202E turns round, ESC and U+009B begin sequences, and a line is forged.
const std::string kEvil =
    "gift \xe2\x80\xae tfig \x1b[31m\xc2\x9b"
    "2J \xe2\x81\xa6\nforged";

class Terminal : public WalletCommands {
 protected:
  // Does it show what was written?
  enum class Shows : std::uint8_t { kYes, kNo };
  void expect_harmless(const std::vector<std::string>& line, Shows shows = Shows::kYes) {
    for (const bool as_document : {false, true}) {
      std::vector<std::string> command = line;
      if (as_document) command.emplace_back("--json");
      command.insert(command.end(), {"--data", data()});
      const Finished end = run(command);
      SCOPED_TRACE(testing::PrintToString(command) + "\n" + end.out + end.err);
      const std::string all = end.out + end.err;
      EXPECT_EQ(all.find("gift") != std::string::npos, shows == Shows::kYes);
      EXPECT_EQ(escape_unprintable(all), all);
      EXPECT_EQ(all.find("\nforged"), std::string::npos);
      if (!as_document || end.exit_code != 0 || shows == Shows::kNo) continue;
      EXPECT_NE(bj::serialize(bj::parse(end.out)).find("\xe2\x80\xae"), std::string::npos)
          << "the document is no longer the same";
    }
  }
};

TEST_F(Terminal, LabelsOfAWallet) {
  ASSERT_NO_FATAL_FAILURE(make_shop());
  const bj::value address = as_json({"address", "shop"});
  const std::string to = str(address, "address");
  const Bytes raw = wallet::test_tx({wallet::foreign_outpoint(1)},
                                    {{5'000, from_hex(str(address, "script_pub_key")).value()}});
  const std::string tx = str(as_json({"record", "shop", to_hex(raw), "--height", "7", "--block",
                                      std::string(64, '7'), "--index", "1"}),
                             "tx_hash");
  for (const auto& [kind, ref] : {std::pair{"address", to}, {"tx", tx}, {"output", tx + "#0"}})
    expect_harmless({"wallet", "label", "shop", kind, ref, kEvil});
  expect_harmless({"wallet", "labels", "shop"});
  expect_harmless({"wallet", "coins", "shop"});
  expect_harmless({"wallet", "coin", "shop", tx + "#0"});
  expect_harmless({"wallet", "history", "shop"});
  expect_harmless({"wallet", "show", "shop", tx});
  expect_harmless({"wallet", "balance", kEvil});
  expect_harmless({"wallet", "accounts", kEvil});
}

TEST_F(Terminal, NamesAndMemosOfTokens) {
  ASSERT_EQ(run({"token", "init", "--data", data()}).exit_code, 0);
  ASSERT_EQ(run({"token", "user", "create", "alice", "--data", data()}).exit_code, 0);
  expect_harmless({"token", "user", "create", kEvil}, Shows::kNo);
  ASSERT_EQ(run({"token", "transfer", "system_account_communitytoken", "alice", "5", "--memo",
                 kEvil, "--data", data()})
                .exit_code,
            0);
  expect_harmless({"token", "history"});
  expect_harmless({"token", "statement", "alice"});
  expect_harmless({"token", "wallet", kEvil}, Shows::kNo);
}

TEST_F(Terminal, ErrorsRepeatWhatWasTypedHarmlessly) {
  expect_harmless({kEvil});
  expect_harmless({"status", "--config", kEvil});
  expect_harmless({"decode", kEvil});
}

}  // namespace
}  // namespace coffer
