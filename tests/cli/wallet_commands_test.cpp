// coffer wallet, as a newcomer types it: every command once, and what is wrong in one line.
#include "cli/wallet_commands.h"

#include <fstream>

#include "base/result.h"
#include "sql/test_postgres.h"

namespace coffer {
namespace {

TEST_F(WalletCommands, StatusOfAStoppedDirectoryShowsTheWallets) {
  const auto status = [&](bool as_json, const std::vector<std::string>& variables = {}) {
    std::vector<std::string> arguments = {"status", "--data", data()};
    if (as_json) arguments.emplace_back("--json");
    const Finished end = run(arguments, variables);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  };
  ASSERT_EQ(run({"sync", "--to", "5", "--data", data()}).exit_code, 0);
  ASSERT_EQ(wallet({"create", "shop"}).exit_code, 0);
  const boost::json::value shown = boost::json::parse(status(true));
  EXPECT_EQ(shown.at("wallet").at("wallets").to_number<std::uint64_t>(), 1u);
  EXPECT_EQ(shown.at("wallet").at("tip_height").to_number<std::uint64_t>(), 5u);
  EXPECT_EQ(str(shown.at("wallet"), "problem"), "");
  const boost::json::value& last = shown.at("consumers").as_array().back();
  EXPECT_EQ(str(last, "name"), "wallet");
  EXPECT_EQ(last.at("tip").at("number").to_number<std::uint64_t>(), 5u);
  EXPECT_NE(status(false).find("wallets   1, at height 5\n"), std::string::npos) << status(false);
  EXPECT_TRUE(
      boost::json::parse(status(true, {"COFFER_WALLET_ENABLED=false"})).at("wallet").is_null());
  // What cannot be read is said, and the rest is shown.
  std::ofstream(data() + "/wallet.db", std::ios::trunc) << std::string(8192, 'x');
  for (const char* log : {"/wallet.db-wal", "/wallet.db-shm"}) fs::remove(data() + log);
  const boost::json::value damaged = boost::json::parse(status(true));
  EXPECT_NE(str(damaged.at("wallet"), "problem"), "");
  EXPECT_FALSE(damaged.at("tip").is_null());
}

TEST_F(WalletCommands, HelpListsEveryCommandWithExamples) {
  const Finished help = run({"wallet", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name :
       {"create",  "list",     "import",  "address",      "addresses", "descriptors",   "record",
        "publish", "cancel",   "balance", "coins",        "history",   "show",          "lease",
        "renew",   "release",  "leases",  "clean-leases", "prune",     "verify",        "stats",
        "label",   "accounts", "coin",    "select",       "rescan",    "import-history"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + name + " "), std::string::npos) << name;
    const Finished one = run({"wallet", name, "--help"});
    EXPECT_EQ(one.exit_code, 0) << name;
    EXPECT_NE(one.out.find(std::string("Examples:\n")), std::string::npos) << one.out;
  }
  for (const char* name : {"descriptor", "address", "script", "core"})
    EXPECT_NE(run({"wallet", "import", name, "--help"}).out.find("Examples:"), std::string::npos);
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
  expect_refusal(run({"wallet"}), 2, "coffer wallet --help");
  expect_refusal(run({"wallet", "fly"}), 2, "coffer wallet --help");
  expect_refusal(run({"wallet", "import", "fly"}), 2, "coffer wallet import --help");
}

TEST_F(WalletCommands, MissingDataSaysHowToBegin) {
  for (const char* name : {"list", "stats", "verify", "clean-leases"})
    expect_refusal(wallet({name}), 1, "coffer wallet create");
  for (const char* name : {"balance", "coins", "history", "leases", "addresses", "address"})
    expect_refusal(wallet({name, "shop"}), 1, "coffer wallet create");
  EXPECT_FALSE(fs::exists(data()));
}

TEST_F(WalletCommands, CreateImportAndAddresses) {
  EXPECT_NE(text({"create", "shop", "--birthday", "7", "--gap-limit", "5"}).find("shop"),
            std::string::npos);
  const boost::json::value listed = as_json({"list"}).at("wallets").at(0);
  EXPECT_EQ(listed.at("birthday_height").to_number<int>(), 7);
  EXPECT_EQ(listed.at("gap_limit").to_number<int>(), 5);
  EXPECT_NE(text({"list"}).find("shop"), std::string::npos);
  EXPECT_EQ(as_json({"import", "descriptor", "shop", kRanged}).at("addresses").to_number<int>(),
            10);
  EXPECT_NE(text({"import", "descriptor", "shop", kRanged}).find("nothing new"),
            std::string::npos);  // E3
  EXPECT_EQ(as_json({"descriptors", "shop"}).at("descriptors").as_array().size(), 2u);

  const std::string first = text({"address", "shop"}), second = text({"address", "shop"});
  EXPECT_EQ(first.rfind("bcrt1q", 0), 0u) << first;
  EXPECT_NE(first, second);
  const boost::json::value change = as_json({"address", "shop", "--change"});
  EXPECT_EQ(change.at("branch").to_number<int>(), 1);
  EXPECT_EQ(change.at("index").to_number<int>(), 0);
  // An address and a script of their own; twice is once.
  EXPECT_EQ(as_json({"import", "script", "shop", "51", "52", "--account", "extra"})
                .at("addresses")
                .to_number<int>(),
            2);
  EXPECT_EQ(as_json({"import", "address", "shop", str(change, "address"),
                     "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080"})
                .at("addresses")
                .to_number<int>(),
            1);
  EXPECT_NE(text({"addresses", "shop", "--count", "3"}).find("more with --cursor"),
            std::string::npos);
  const std::string plain = "tr(" + wallet::kTestnetKey + "/7/*)";
  const auto core = wallet::parse_descriptor(wallet::bitcoin("devnet"), plain);
  ASSERT_TRUE(core) << core.error().message;
  std::ofstream(data("core.json")) << fmt::format(
      R"({{"wallet_name":"w","descriptors":[{{"desc":"{}","timestamp":5,"active":true,)"
      R"("internal":false,"range":[0,9],"next":3,"next_index":3}}]}})",
      core->text());
  EXPECT_EQ(as_json({"import", "core", "shop", data("core.json")}).at("addresses").as_int64(), 10);
  const boost::json::value taproot = as_json({"address", "shop"});
  EXPECT_EQ(str(taproot, "type"), "p2tr");
  EXPECT_EQ(taproot.at("index").to_number<int>(), 3);
  EXPECT_NE(text({"verify"}).find("fits together"), std::string::npos);
  EXPECT_TRUE(as_json({"verify"}).at("ok").as_bool());
}

class WalletStory : public WalletCommands {
 protected:
  void payment_story();
};

void WalletStory::payment_story() {
  make_shop();
  const Bytes parent = pay(150'000, 7);
  const std::string tx = id_of(parent);
  const boost::json::value balance = as_json({"balance", "shop"});
  EXPECT_EQ(str(balance, "spendable"), "150000");
  EXPECT_NE(text({"balance", "shop"}).find("0.00150000 BTC"), std::string::npos);
  EXPECT_EQ(str(as_json({"balance", "shop", "--account", "default"}), "total"), "150000");
  const boost::json::value coin = as_json({"coins", "shop"}).at("coins").at(0);
  EXPECT_EQ(str(coin, "tx_hash"), tx);
  EXPECT_EQ(str(as_json({"balance", "shop", "--address", str(coin, "address")}), "total"),
            "150000");
  EXPECT_NE(text({"coins", "shop", "--spendable"}).find(tx + "#0"), std::string::npos);
  const auto count = [&](std::vector<std::string> filter) {
    filter.insert(filter.begin(), {"coins", "shop"});
    return as_json(filter).at("coins").as_array().size();
  };
  EXPECT_EQ(count({"--min-amount", "150000", "--max-amount", "150000"}), 1u);
  EXPECT_EQ(count({"--min-amount", "150001"}), 0u);
  EXPECT_EQ(count({"--state", "unconfirmed,spent"}), 0u);

  const std::vector<std::string> held = {"--lock-id", kOtherLock, "--for", "10m"};
  const auto select = [&](const std::string& amount) {
    return std::vector<std::string>{"select", "shop", amount, held[0], held[1], held[2], held[3]};
  };
  expect_refusal(wallet(select("150001")), 1, "only 150000 satoshi may be spent");
  EXPECT_EQ(str(as_json(select("1")), "amount"), "150000");
  EXPECT_NE(text(select("1")).find(tx + "#0"), std::string::npos);  // the same again
  EXPECT_EQ(count({"--spendable"}), 0u);
  (void)text({"release", "shop", "--all", "--lock-id", kOtherLock});

  (void)text({"label", "shop", "address", str(coin, "address"), "till"});
  EXPECT_NE(text({"coins", "shop"}).find("till"), std::string::npos);
  EXPECT_NE(text({"addresses", "shop"}).find("till"), std::string::npos);
  (void)text({"label", "shop", "output", tx + "#0", "coffee"});
  EXPECT_NE(text({"coins", "shop"}).find("coffee"), std::string::npos);
  EXPECT_NE(text({"show", "shop", tx}).find("coffee"), std::string::npos);
  const boost::json::value named = as_json({"coins", "shop"}).at("coins").at(0);
  EXPECT_EQ(str(named, "label"), "coffee");
  EXPECT_EQ(str(named, "address_label"), "till");

  const std::string expires =
      text({"lease", "shop", tx + "#0", "--lock-id", kLock, "--for", "10m"});
  EXPECT_NE(expires.find("1 coin leased until"), std::string::npos) << expires;
  EXPECT_EQ(count({"--unleased"}), 0u);
  EXPECT_EQ(count({"--leased"}), 1u);
  expect_refusal(wallet({"lease", "shop", tx + ":0", "--lock-id", kOtherLock, "--for", "1s"}), 1,
                 "another lock id");
  expect_refusal(wallet({"release", "shop", tx + ":0", "--lock-id", kOtherLock}), 1,
                 "another lock id");
  EXPECT_EQ(as_json({"renew", "shop", tx + ":0", "--lock-id", kLock, "--for", "1h"})
                .at("coins")
                .as_int64(),
            1);
  EXPECT_NE(text({"leases", "shop"}).find(kLock), std::string::npos);

  const Bytes spend = wallet::test_tx({{wallet::test_txid(parent), 0}}, {{149'000, Bytes(22, 1)}});
  std::ofstream(data("spend.hex")) << to_hex(spend) << "\n";
  const std::string file = "@" + data("spend.hex");
  expect_refusal(wallet({"record", "shop", file, "--status", "pending"}), 1, "leased");
  const boost::json::value pending =
      as_json({"record", "shop", file, "--status", "pending", "--lock-id", kLock});
  EXPECT_EQ(str(pending, "status"), "pending");
  EXPECT_EQ(str(as_json({"balance", "shop"}), "locked"), "150000");
  EXPECT_EQ(str(as_json({"cancel", "shop", id_of(spend)}), "status"), "failed");
  EXPECT_EQ(as_json({"release", "shop", "--all", "--lock-id", kLock}).at("coins").as_int64(), 1);
  EXPECT_EQ(str(as_json({"balance", "shop"}), "spendable"), "150000");
  expect_refusal(wallet({"publish", "shop", id_of(spend)}), 1, "only a pending");

  (void)as_json({"record", "shop", file, "--status", "pending"});
  EXPECT_NE(text({"publish", "shop", id_of(spend)}).find("published"), std::string::npos);
  EXPECT_EQ(str(as_json({"balance", "shop"}), "total"), "0");
  EXPECT_NE(text({"label", "shop", "tx", id_of(spend), "rent of May"}).find("rent"),
            std::string::npos);
  EXPECT_EQ(str(as_json({"history", "shop", "--unconfirmed"}).at("transactions").at(0), "label"),
            "rent of May");
  const std::string history = text({"history", "shop"});
  EXPECT_NE(history.find("-0.00150000"), std::string::npos) << history;
  EXPECT_NE(history.find("+0.00150000"), std::string::npos) << history;
  const std::string shown = text({"show", "shop", id_of(spend)});
  EXPECT_NE(shown.find("0.00001000 BTC"), std::string::npos) << shown;  // the fee
  EXPECT_EQ(str(as_json({"show", "shop", id_of(spend)}), "raw"), to_hex(spend));
  EXPECT_NE(text({"stats"}).find("transactions"), std::string::npos);
  EXPECT_TRUE(as_json({"prune", "shop", "--dry-run"}).at("dry_run").as_bool());
  EXPECT_NE(text({"clean-leases"}).find("0 expired"), std::string::npos);
  EXPECT_NE(text({"verify"}).find("fits together"), std::string::npos);
}

TEST_F(WalletStory, PaymentLeaseSpendCancel) {
  payment_story();
  EXPECT_TRUE(fs::exists(fs::path(data()) / "wallet.db"));
}

TEST_F(WalletStory, PaymentLeaseSpendCancelOnPostgres) {
  COFFER_REQUIRE_POSTGRES_OR_SKIP();
  auto* server = sql::test::PostgresServer::shared();
  database_ = server->location(server->fresh_database());
  payment_story();
  EXPECT_FALSE(fs::exists(fs::path(data()) / "wallet.db"));
}

TEST_F(WalletCommands, TypingErrorsChangeNothing) {
  make_shop();
  const std::string tx = id_of(pay(100'000, 3));
  const std::string before = everything();
  const auto usage = [&](std::vector<std::string> arguments, const std::string& why) {
    SCOPED_TRACE(arguments.front() + " " + arguments.back());
    expect_refusal(wallet(std::move(arguments)), 2, why);
  };
  const auto refused = [&](std::vector<std::string> arguments, const std::string& why) {
    SCOPED_TRACE(arguments.front() + " " + arguments.back());
    expect_refusal(wallet(std::move(arguments)), 1, why);
  };
  for (const char* name : {"balance", "coins", "history", "leases", "addresses", "address"})
    refused({name, "none"}, "no wallet 'none'");
  refused({"balance", "no\nne"}, "no wallet");
  refused({"create", "shop"}, "already");
  usage({"create", "a b"}, "name");
  usage({"create", "b", "--gap-limit", "0"}, "gap-limit");
  usage({"create", "b", "--birthday", "-1"}, "birthday");
  usage({"create"}, "coffer wallet create --help");

  const auto descriptor = [&](const std::string& words, const std::string& why) {
    usage({"import", "descriptor", "shop", words}, why);
  };
  descriptor("wpkh(" + wallet::kSecretXprv + "/0/*)", "private key");
  descriptor("wpkh(" + wallet::kTestnetKey + "/0/*)#aaaaaaaa", "checksum");
  descriptor("wpkh(" + wallet::kKeyA + "/0/*)", "network");
  descriptor("wpkh(", "position");
  EXPECT_FALSE(wallet::leaks(
      wallet({"import", "descriptor", "shop", "wpkh(" + wallet::kSecretXprv + "/0/*)"}).err,
      wallet::kSecretXprv));
  // The first is good; nothing of it is kept.
  usage({"import", "address", "shop", "bcrt1qw508d6qejxtdg4y5r3zarvary0c5xw7kygt080",
         "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4"},
        "address");
  usage({"import", "script", "shop", "51", "zz"}, "script");
  refused({"import", "core", "shop", data("none.json")}, "none.json");
  std::ofstream(data("bad.json")) << "[]";
  refused({"import", "core", "shop", data("bad.json")}, "bad.json");
  refused({"address", "shop", "--account", "none"}, "none");
  usage({"balance", "shop", "--account", "a", "--address", "51"}, "one of them");
  EXPECT_EQ(everything(), before);
}

TEST_F(WalletCommands, WrongTransactionsAndLeasesChangeNothing) {
  make_shop();
  const std::string tx = id_of(pay(100'000, 3));
  const Bytes script = new_script();
  const std::string before = everything();
  const auto usage = [&](std::vector<std::string> arguments, const std::string& why) {
    SCOPED_TRACE(arguments.front() + " " + arguments.back());
    expect_refusal(wallet(std::move(arguments)), 2, why);
  };
  const auto refused = [&](std::vector<std::string> arguments, const std::string& why) {
    SCOPED_TRACE(arguments.front() + " " + arguments.back());
    expect_refusal(wallet(std::move(arguments)), 1, why);
  };
  const auto from = wallet::foreign_outpoint(200);
  const std::string good = to_hex(wallet::test_tx({from}, {{1'000, script}}));
  const auto hex = [&](const std::vector<chain::Outpoint>& inputs, std::uint64_t amount) {
    return to_hex(wallet::test_tx(inputs, {{amount, script}}));
  };
  usage({"record", "shop", "zz"}, "transaction");
  refused({"record", "shop", "0011"}, "transaction");
  refused({"record", "shop", good.substr(0, good.size() - 2)}, "transaction");
  refused({"record", "shop", hex({from, from}, 5)}, "twice");
  refused({"record", "shop", hex({from}, ~0ull)}, "amount");
  refused({"record", "shop", "@" + data("none")}, "none");
  refused({"record", "shop", "-"}, "transaction");  // nothing on standard input
  refused({"record", "none", good}, "no wallet");
  usage({"record", "shop", good, "--status", "failed"}, "status");
  usage({"record", "shop", good, "--lock-id", "aa"}, "lock_id");
  usage({"record", "shop", good, "--height", "5"}, "all three");
  refused({"record", "shop", good, "--height", "3", "--block", kLock, "--index", "0"}, "height 3");
  refused({"publish", "shop", kZeros}, kZeros);
  refused({"cancel", "shop", tx}, "confirmed");
  usage({"cancel", "shop", "x"}, "64 hex digits");
  refused({"show", "shop", kZeros}, kZeros);

  const std::string coin = tx + "#0";
  usage({"lease", "shop", coin, "--lock-id", "aa", "--for", "10m"}, "lock_id");
  usage({"lease", "shop", coin, "--lock-id", kLock, "--for", "soon"}, "duration");
  usage({"select", "shop", "1.5", "--lock-id", kLock, "--for", "1m"}, "whole number");
  usage({"select", "shop", "1", "--lock-id", kLock, "--for", "1m", "--order", "any"}, "order");
  refused({"select", "shop", "1", "--lock-id", kLock, "--for", "1m", "--account", "none"}, "none");
  usage({"lease", "shop", coin, "--lock-id", kLock, "--for", "400d"}, "year");
  usage({"lease", "shop", coin, "--lock-id", kLock}, "--for");
  usage({"lease", "shop", "x", "--lock-id", kLock, "--for", "10m"}, "TX#INDEX");
  refused({"lease", "shop", coin, tx + "#1", "--lock-id", kLock, "--for", "10m"}, "#1");
  refused({"renew", "shop", coin, "--lock-id", kLock, "--for", "10m"}, "hold");
  usage({"release", "shop", "--lock-id", kLock}, "--all");
  usage({"release", "shop", coin, "--all", "--lock-id", kLock}, "--all");
  usage({"prune", "shop", "--invalid-older-than", "x"}, "duration");
  usage({"coins", "shop", "--min-amount", "99999999999999999999"}, "min_amount");
  usage({"coins", "shop", "--state", "gone"}, "state");
  usage({"coins", "shop", "--order", "up"}, "order");
  usage({"coins", "shop", "--count", "1001"}, "count");
  usage({"coins", "shop", "--cursor", "x"}, "cursor");
  usage({"history", "shop", "--status", "lost"}, "status");
  usage({"label", "shop", "coin", tx, "x"}, "kind");
  usage({"label", "shop", "address", "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4", "x"}, "address");
  EXPECT_EQ(everything(), before);
}

TEST_F(WalletCommands, NetworkComesFromTheData) {  // E5
  ASSERT_EQ(wallet({"create", "shop", "--network", "regtest"}).exit_code, 0);
  EXPECT_EQ(wallet({"list"}).exit_code, 0);  // need not be said again
  expect_refusal(wallet({"list", "--network", "mainnet"}), 1, "regtest");
  expect_refusal(wallet({"create", "b", "--network", "moon"}, "moon"), 2, "moon");
  EXPECT_FALSE(fs::exists(data("moon")));
  // A directory with a chain says it, too.
  ASSERT_EQ(run({"sync", "--to", "20", "--data", data("chain")}).exit_code, 0);
  EXPECT_EQ(wallet({"create", "shop"}, "chain").exit_code, 0);
  expect_refusal(wallet({"create", "b", "--network", "regtest"}, "chain"), 1, "devnet");
  ASSERT_EQ(run({"sync", "--chain", "cardano", "--to", "20", "--data", data("ada")}).exit_code, 0);
  expect_refusal(wallet({"create", "shop"}, "ada"), 1, "bitcoin only");
  EXPECT_FALSE(fs::exists(fs::path(data("ada")) / "wallet.db"));
}

}  // namespace
}  // namespace coffer
