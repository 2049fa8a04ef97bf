// The command line as habits expect it: options in any order, help, suggestions, settings, checks
// for scripts, and output that cannot be written.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <fstream>
#include <thread>

#include "base/temp_dir.h"
#include "support/process.h"
#include "wallet/descriptor/descriptor_test_util.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::expect_refusal;
using test::Finished;
using test::Process;
using test::run;

using Line = std::vector<std::string>;

class CommandLine : public testing::Test {
 protected:
  std::string data(const char* name = "data") const { return (dir_.path() / name).string(); }
  // Runs it in a shell, with what the shell shall do with its input and output.
  static Finished in_shell(const Line& arguments, const std::string& redirection) {
    Line words = {"/bin/sh", "-c", "exec \"$@\" " + redirection, "sh", test::coffer()};
    words.insert(words.end(), arguments.begin(), arguments.end());
    return Process(words).wait().value_or(Finished{});
  }
  Line with_data(Line arguments) const {
    arguments.insert(arguments.end(), {"--data", data()});
    return arguments;
  }
  static bj::object setting(const std::string& document, std::string_view key) {
    const bj::value all = bj::parse(document);
    for (const bj::value& each : all.at("settings").as_array())
      if (each.at("key").as_string() == key) return each.as_object();
    ADD_FAILURE() << "no setting " << key;
    return {};
  }
  TempDir dir_;
};

TEST_F(CommandLine, GlobalOptionsBeforeAndAfterTheCommand) {
  ASSERT_EQ(run({"--data", data(), "wallet", "create", "before"}).exit_code, 0);
  ASSERT_EQ(run({"wallet", "--data", data(), "create", "between"}).exit_code, 0);
  ASSERT_EQ(run({"wallet", "create", "after", "--data", data()}).exit_code, 0);
  const Finished list = run({"wallet", "list", "--json", "--data", data()});
  EXPECT_EQ(bj::parse(list.out).at("wallets").as_array().size(), 3u) << list.out;
  for (const Line& line : {Line{"--json", "wallet", "list", "--data", data()},
                           Line{"--data", data(), "wallet", "--json", "list"},
                           Line{"--data-dir=" + data(), "--json", "wallet", "list"}})
    EXPECT_EQ(run(line).out, list.out) << line.front();
  ASSERT_EQ(run({"sync", "--to", "3", "--data", data()}).exit_code, 0);
  EXPECT_EQ(bj::parse(run({"--json", "status", "--data", data()}).out).at("chain").as_string(),
            "bitcoin");
  // A switch before a command does not take the command for its value.
  EXPECT_EQ(run({"--wallet-enabled", "--data", data(), "wallet", "list"}).exit_code, 0);
  EXPECT_EQ(run({"--data", data(), "--wallet-enabled", "wallet", "list"}).exit_code, 0);
}

TEST_F(CommandLine, GlobalOptionsConfigFile) {
  std::ofstream(data("c.toml")) << "data_dir = \"" << data("elsewhere") << "\"\n";
  ASSERT_EQ(run({"--config", data("c.toml"), "wallet", "create", "shop"}).exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(data("elsewhere") + "/wallet.db"));
}

TEST_F(CommandLine, GlobalOptionsTwiceOrNotTakenAreRefused) {
  expect_refusal(run({"--data", data(), "wallet", "list", "--data", data()}), 2, "given twice");
  expect_refusal(run({"--config", "a", "wallet", "list", "--config", "b"}), 2, "given twice");
  expect_refusal(run({"--listen", "127.0.0.1:0", "utxo", "stats"}), 2,
                 "'coffer utxo stats' takes no --http-listen");
  expect_refusal(run({"--listen", "127.0.0.1:0", "version"}), 2, "takes no --http-listen");
}

// An alias or a script puts them before every command.
TEST_F(CommandLine, GlobalOptionsAreAcceptedByCommandsWithoutData) {
  EXPECT_EQ(run({"--data", data(), "--config", "a", "--json", "version"}).exit_code, 0);
  EXPECT_EQ(run({"version", "--data", data()}).out, run({"version"}).out);
  EXPECT_EQ(run({"--data", data(), "help", "wallet"}).out, run({"help", "wallet"}).out);
}

TEST_F(CommandLine, MissingCommandAndSuperfluousArgumentAreNamed) {
  expect_refusal(run({}), 2, "'coffer' needs the name of a command; see 'coffer --help'");
  expect_refusal(run({"wallet", "--json"}), 2, "'coffer wallet' needs the name of a command");
  expect_refusal(run({"wallet", "show", "shop", "00", "11"}), 2,
                 "unexpected argument '11'; see 'coffer wallet show --help'");
}

TEST_F(CommandLine, HelpCommandIsTheHelpOption) {
  const std::vector<std::pair<Line, Line>> same = {
      {{"help"}, {"--help"}},
      {{"help", "wallet"}, {"wallet", "--help"}},
      {{"help", "wallet", "lease"}, {"wallet", "lease", "-h"}},
      {{"help", "wallet", "import", "core"}, {"wallet", "import", "core", "--help"}}};
  for (const auto& [words, option] : same) {
    const Finished help = run(words);
    EXPECT_EQ(help.exit_code, 0) << help.err;
    EXPECT_EQ(help.out, run(option).out);
    EXPECT_NE(help.out.find("Usage: coffer"), std::string::npos) << help.out;
  }
  expect_refusal(run({"help", "walet"}), 2, "no command 'walet'; did you mean wallet?");
  expect_refusal(run({"help", "wallet", "leas"}), 2, "did you mean wallet lease?");
  expect_refusal(run({"help", "status", "x"}), 2, "no command 'status x'");
}

TEST_F(CommandLine, HelpListsSettingsOnlyWithHelpAll) {
  for (const Line& line : {Line{}, Line{"serve"}, Line{"wallet"}, Line{"wallet", "lease"}}) {
    Line own = line, all = line;
    own.emplace_back("--help");
    all.emplace_back("--help-all");
    const std::string help = run(own).out, full = run(all).out;
    EXPECT_EQ(help.find("--log-level"), std::string::npos) << help;
    EXPECT_NE(help.find("--help-all' lists them"), std::string::npos) << help;
    EXPECT_NE(full.find("\nSettings:\n"), std::string::npos) << full;
    EXPECT_NE(full.find("--log-level"), std::string::npos) << full;
  }
  const std::string lease = run({"wallet", "lease", "--help-all"}).out;
  EXPECT_LT(lease.find("--lock-id"), lease.find("--log-level")) << lease;
  EXPECT_EQ(lease.find("--http-workers"), std::string::npos) << lease;  // it takes no such setting
}

TEST_F(CommandLine, HelpShowsTheCookieFormOfRpcSources) {
  for (const Line& line : {Line{"help", "serve"}, Line{"help", "wallet", "rescan"}}) {
    const std::string help = run(line).out;
    EXPECT_NE(help.find("rpc:http://127.0.0.1:8332?cookie="), std::string::npos) << help;
    EXPECT_EQ(help.find("password"), std::string::npos) << help;
  }
}

TEST_F(CommandLine, MistypedNamesGetASuggestion) {
  struct Case {
    Line line;
    const char* text;
  };
  const Case cases[] = {
      {{"walet"}, "no command 'walet'; did you mean wallet?\n"},
      {{"walet", "create", "x"}, "no command 'walet'; did you mean wallet?\n"},
      {{"--json", "statsu"}, "no command 'statsu'; did you mean status?\n"},
      {{"wallet", "blance", "shop"}, "no command 'wallet blance'; did you mean wallet balance?\n"},
      {{"wallet", "import", "scirpt"}, "did you mean wallet import script?\n"},
      {{"sync", "--too", "5"}, "no option '--too'; did you mean --to?\n"},
      {{"wallet", "lease", "shop", "TX#0", "--lockid", "x"}, "did you mean --lock-id?\n"},
      {{"serve", "--netwrok=mainnet"}, "no option '--netwrok'; did you mean --network?\n"},
      {{"--jsn", "status"}, "no option '--jsn'; did you mean --json?\n"},
      {{"status", "-json"}, "did you mean --json?\n"},
      {{"fly"}, "no command 'fly'; see 'coffer --help'\n"},
      {{"sync", "--bogus"}, "no option '--bogus'; see 'coffer sync --help'\n"},
      {{"wallet", "list", "extra"}, "argument 'extra'; see 'coffer wallet list --help'\n"},
  };
  for (const Case& wrong : cases) expect_refusal(run(wrong.line), 2, wrong.text);
}

TEST_F(CommandLine, SettingsShowValuesAndWhereTheyComeFrom) {
  const std::string file = data("c.toml");
  std::ofstream(file) << "network = \"regtest\"\n\n[http]\nworkers = 7\n";
  const Line line = {"settings", "--config", file, "--data", data(), "--http-behind-proxy"};
  const std::vector<std::string> variables = {"COFFER_HTTP_WORKERS=9", "COFFER_LOG_LEVEL=warn"};
  const Finished text = run(line, variables);
  ASSERT_EQ(text.exit_code, 0) << text.err;
  for (const std::string& part :
       {"data_dir = \"" + data() + "\"  (flag --data-dir; default \"coffer-data\")\n",
        "\nnetwork = \"regtest\"  (file " + file + ":1; default \"devnet\")\n",
        std::string("\nhttp.workers = 9  (variable COFFER_HTTP_WORKERS; default 4)\n"),
        std::string("\nhttp.behind_proxy = true  (flag --http-behind-proxy; default false)\n"),
        std::string("\nchain = \"bitcoin\"  (default)\n"), std::string("COFFER_UTXO_PRUNE_DEPTH")})
    EXPECT_NE(text.out.find(part), std::string::npos) << part << text.out;
  Line as_json = line;
  as_json.emplace_back("--json");
  const std::string document = run(as_json, variables).out;
  EXPECT_EQ(setting(document, "http.workers").at("value"), bj::value(9));
  EXPECT_EQ(setting(document, "http.workers").at("default"), bj::value(4));
  EXPECT_EQ(setting(document, "http.workers").at("origin").as_string(), "variable");
  EXPECT_EQ(setting(document, "network").at("place").as_string(), file + ":1");
  EXPECT_EQ(setting(document, "data_dir").at("origin").as_string(), "flag");
  EXPECT_EQ(setting(document, "chain").at("origin").as_string(), "default");
  EXPECT_TRUE(setting(document, "chain").at("place").is_null());
}

TEST_F(CommandLine, SettingsNeverShowSecrets) {
  const std::vector<std::string> variables = {"COFFER_WALLET_DATABASE=postgres://u:hunter2@h/db"};
  for (const Line& more : {Line{}, Line{"--json"}}) {
    Line line = {"settings", "--source", "rpc:http://u:hunter2@h:1", "--data", data()};
    line.insert(line.end(), more.begin(), more.end());
    const Finished shown = run(line, variables);
    EXPECT_EQ(shown.exit_code, 0) << shown.err;
    EXPECT_EQ(shown.out.find("hunter2"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("COFFER_WALLET_DATABASE"), std::string::npos);
  }
  const std::string document = run({"settings", "--json"}, variables).out;
  EXPECT_TRUE(setting(document, "wallet.database").at("value").is_null());
  EXPECT_EQ(setting(document, "wallet.database").at("origin").as_string(), "variable");
  EXPECT_EQ(setting(document, "source").at("value").as_string(), "devnet");  // nobody set it
}

TEST_F(CommandLine, StatusCheckTellsReadyNotReadyAndUnreachable) {
  expect_refusal(run({"status", "--check", "--data", data()}), 3, "cannot be reached: no coffer");
  ASSERT_EQ(run({"sync", "--to", "3", "--data", data()}).exit_code, 0);
  expect_refusal(run({"status", "--check", "--data", data()}), 3, "cannot be reached: no coffer");
  {
    Process server({test::coffer(), "demo", "--data", data(), "--listen", "127.0.0.1:0"});
    ASSERT_TRUE(server.wait_for_output("page")) << server.err();
    // It may say so before the simulated past has come, and not while stores catch up with that.
    const auto wait_until_ready = [&](const std::vector<std::string>& line) {
      Finished check;
      for (int i = 0; i < 600 && check.exit_code != 0; ++i) check = run(line);
      EXPECT_EQ(check.exit_code, 0) << check.err;
      return check.out;
    };
    EXPECT_EQ(wait_until_ready({"status", "--check", "--data", data()}), "ready\n");
    const std::string as_json = wait_until_ready({"--json", "status", "--check", "--data", data()});
    EXPECT_TRUE(bj::parse(as_json).at("ready").as_bool());
    // It runs but does not answer.
    server.kill(SIGSTOP);
    expect_refusal(run({"status", "--check", "--data", data()}), 3, "cannot be reached: ");
    server.kill(SIGCONT);
  }
  // A source that is not there: it serves and is not ready.
  Process server({test::coffer(), "serve", "--network", "regtest", "--source",
                  "rpc:http://127.0.0.1:" + std::to_string(test::free_port()), "--data",
                  data("waiting"), "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(server.wait_for_output("page")) << server.err();
  expect_refusal(run({"status", "--check", "--data", data("waiting")}), 1, "not ready: ");
}

// Every command that prints, also those whose output is short enough to wait in a buffer.
TEST_F(CommandLine, OutputThatCannotBeWrittenIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  ASSERT_EQ(
      run(with_data({"sync", "--to", "20", "--utxo-store", "mmr", "--txstore-enabled"})).exit_code,
      0);
  ASSERT_EQ(run(with_data({"wallet", "create", "shop"})).exit_code, 0);
  ASSERT_EQ(run({"devnet", "write", data("chain"), "--blocks", "3", "--format", "hex"}).exit_code,
            0);
  std::string output = run(with_data({"utxo", "dump"})).out;
  output.resize(std::min(output.find('|'), output.size()));
  ASSERT_EQ(run(with_data({"utxo", "get", output})).exit_code, 0) << output;
  const std::string lock(64, 'a');
  const std::vector<Line> plain = {{"help"},
                                   {"--help"},
                                   {"--help-all"},
                                   {"--version"},
                                   {"version"},
                                   {"help", "wallet", "lease"},
                                   {"wallet", "lease", "--help"},
                                   {"devnet", "write", data("again"), "--blocks", "3"},
                                   {"decode", data("chain")},
                                   {"bench", "decode", "--seconds", "1"}};
  const std::vector<Line> stored = {
      {"settings"},
      {"settings", "--json"},
      {"status"},
      {"status", "--json"},
      {"sync", "--to", "20", "--utxo-store", "mmr"},
      {"utxo", "get", output},
      {"utxo", "stats"},
      {"utxo", "dump"},
      {"utxo", "dump", "--json"},
      {"utxo", "digest"},
      {"utxo", "root"},
      {"utxo", "proof", output},
      {"utxo", "verify"},
      {"utxo", "snapshot", data("snapshot")},
      {"utxo", "rollback", "19"},
      {"utxo", "rebuild"},
      {"tx", "stats"},
      {"tx", "list", "--conflicting", "--json"},
      {"tx", "dump"},
      {"tx", "digest"},
      {"tx", "verify"},
      {"tx", "prune", "--dry-run"},
      {"rebuild", "totals"},
      {"wallet", "create", "other"},
      {"wallet", "import", "descriptor", "shop", "wpkh(" + wallet::kTestnetKey + "/<0;1>/*)"},
      {"wallet", "import", "script", "shop", "51"},
      {"wallet", "address", "shop"},
      {"wallet", "list"},
      {"wallet", "list", "--json"},
      {"wallet", "accounts", "shop"},
      {"wallet", "descriptors", "shop"},
      {"wallet", "addresses", "shop"},
      {"wallet", "balance", "shop"},
      {"wallet", "coins", "shop"},
      {"wallet", "history", "shop"},
      {"wallet", "leases", "shop"},
      {"wallet", "labels", "shop"},
      {"wallet", "label", "shop", "tx", lock, "text"},
      {"wallet", "pruned", "shop"},
      {"wallet", "prune", "shop"},
      {"wallet", "stats"},
      {"wallet", "verify"},
      {"wallet", "clean-leases"},
      {"wallet", "release", "shop", "--all", "--lock-id", lock},
      {"db", "status"},
      {"db", "migrate"},
      {"db", "backup", data("backup.db")}};
  const auto expect_full = [](const Line& line) {
    const Finished end = in_shell(line, ">/dev/full");
    std::string name;
    for (const std::string& word : line) name += word + " ";
    EXPECT_EQ(end.exit_code, 3) << name << end.err;
    const std::size_t said = end.err.find("coffer: cannot write the output");
    ASSERT_NE(said, std::string::npos) << name << end.err;
    EXPECT_EQ(end.err.find('\n', said), end.err.size() - 1) << name << end.err;
  };
  for (const Line& line : plain) expect_full(line);
  for (const Line& line : stored) expect_full(with_data(line));
}

TEST_F(CommandLine, ImportCoreReadsStandardInput) {
  ASSERT_EQ(run(with_data({"wallet", "create", "shop"})).exit_code, 0);
  const std::string file = data("core.json");
  const bj::object descriptor = {{"desc", "wpkh(" + wallet::kTestnetKey + "/0/*)"},
                                 {"timestamp", 0},
                                 {"active", true},
                                 {"internal", false},
                                 {"range", {0, 9}},
                                 {"next", 0}};
  std::ofstream(file) << bj::serialize(
      bj::object{{"wallet_name", "w"}, {"descriptors", bj::array{descriptor}}});
  const Line import = with_data({"wallet", "import", "core", "shop", "-"});
  const Finished empty = in_shell(import, "</dev/null");
  expect_refusal(empty, 1, "standard input");
  const Finished done = in_shell(import, "<" + file);
  EXPECT_EQ(done.exit_code, 0) << done.err;
  EXPECT_NE(done.out.find("1 new descriptor"), std::string::npos) << done.out;
  expect_refusal(run(with_data({"wallet", "import-history", "shop", "-"})), 2, "standard input");
}

}  // namespace
}  // namespace coffer
