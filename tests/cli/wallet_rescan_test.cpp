// Old blocks into new wallets, by the real program: what the wallet then holds is what the UTXO
// state, which knows nothing of wallets, says of the same scripts.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <fstream>
#include <memory>
#include <set>
#include <thread>

#include "base/result.h"
#include "base/temp_dir.h"
#include "sql/connection.h"
#include "support/process.h"
#include "utxo/support/dump.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::Finished;
using test::run;

class WalletRescan : public testing::Test {
 protected:
  std::string data() const { return (dir_.path() / "data").string(); }
  std::string text(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--data", data()});
    const Finished end = run(arguments);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  bj::value as_json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return bj::parse(text(std::move(arguments)));
  }
  // Every script of the UTXO state, and what is on all of them together.
  struct Unspent {
    std::set<std::string> scripts;
    std::uint64_t count = 0, value = 0;
    std::set<std::string> outpoints;
  };
  // Only of some scripts, if given, and of blocks from a height on.
  Unspent unspent(const std::set<std::string>& only = {}, std::uint64_t from = 0) const {
    Unspent found;
    for (const test::DumpedOutput& output : test::parse_dump(text({"utxo", "dump"}))) {
      if (output.height < from || (!only.empty() && !only.contains(output.script))) continue;
      ++found.count;
      found.value += output.value;
      found.scripts.insert(output.script);
      found.outpoints.insert(output.outpoint);
    }
    return found;
  }
  void make_wallet(const std::set<std::string>& scripts, std::uint64_t birthday = 0) const {
    (void)text({"wallet", "create", "all", "--birthday", std::to_string(birthday)});
    std::vector<std::string> import = {"wallet", "import", "script", "all"};
    import.insert(import.end(), scripts.begin(), scripts.end());
    (void)text(import);
  }
  void expect_balance(const Unspent& expected) const {
    const bj::value balance = as_json({"wallet", "balance", "all"});
    EXPECT_EQ(balance.at("total").as_string(), std::to_string(expected.value));
    EXPECT_EQ(balance.at("coins").to_number<std::uint64_t>(), expected.count);
    EXPECT_NE(text({"wallet", "verify"}).find("fits together"), std::string::npos);
  }

  // The coins in these states whose transaction is in a block.
  std::set<std::string> mined(const std::string& states) const {
    std::set<std::string> found;
    std::string cursor;
    do {
      std::vector<std::string> ask = {"wallet", "coins",   "all", "--count",
                                      "1000",   "--state", states};
      if (!cursor.empty()) ask.insert(ask.end(), {"--cursor", cursor});
      const bj::value page = as_json(ask);
      for (const bj::value& coin : page.at("coins").as_array())
        if (!coin.at("height").is_null())
          found.insert(std::string(coin.at("tx_hash").as_string()) + ":" +
                       std::to_string(coin.at("output_index").to_number<int>()));
      cursor =
          page.at("next_cursor").is_null() ? "" : std::string(page.at("next_cursor").as_string());
    } while (!cursor.empty());
    return found;
  }
  // A daemon on a chain that stands still.
  std::unique_ptr<test::Process> daemon() const {
    auto started = std::make_unique<test::Process>(std::vector<std::string>{
        test::coffer(), "serve", "--data", data(), "--devnet-block-interval-ms", "3600000",
        "--http-listen", "127.0.0.1:" + std::to_string(test::free_port())});
    EXPECT_TRUE(started->wait_for_output("http://")) << started->err();
    return started;
  }
  // The next block of the rescan that is under way.
  std::optional<std::uint64_t> rescan_next() const {
    const bj::value wallet = as_json({"wallet", "list"}).at("wallets").at(0);
    if (wallet.at("rescan_next").is_null()) return {};
    return wallet.at("rescan_next").to_number<std::uint64_t>();
  }
  // Another process's work can only be looked at now and then.
  template <typename Condition>
  static bool eventually(Condition condition) {
    for (int i = 0; i < 1'200; ++i) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  static void stop(test::Process& daemon) {
    daemon.kill(SIGTERM);
    const auto end = daemon.wait();
    ASSERT_TRUE(end);
    EXPECT_EQ(end->exit_code, 0) << end->err;
  }

  TempDir dir_;
};

TEST_F(WalletRescan, FindsTheCoinsOfTheUtxoState) {
  (void)text({"sync", "--to", "150"});
  const Unspent all = unspent();
  ASSERT_GT(all.scripts.size(), 50u);
  make_wallet(all.scripts);
  EXPECT_EQ(as_json({"wallet", "balance", "all"}).at("coins").to_number<std::uint64_t>(), 0u);
  const bj::value done = as_json({"wallet", "rescan", "all"});
  EXPECT_EQ(done.at("blocks").to_number<std::uint64_t>(), 151u);
  expect_balance(all);
  // Again it finds nothing new; and from then on blocks keep it up to date by themselves.
  EXPECT_EQ(as_json({"wallet", "rescan", "all"}).at("changed").to_number<std::uint64_t>(), 0u);
  (void)text({"sync", "--to", "170"});
  const auto tip = as_json({"wallet", "balance", "all"}).at("tip_height");
  EXPECT_EQ(tip.to_number<std::uint64_t>(), 170u);
  EXPECT_NE(text({"wallet", "verify"}).find("fits together"), std::string::npos);
  // What is above the tip, or of a wallet that is not there, is said in one line.
  EXPECT_EQ(run({"wallet", "rescan", "nobody", "--data", data()}).exit_code, 1);
  EXPECT_EQ(run({"wallet", "rescan", "all", "--from", "900", "--data", data()}).exit_code, 1);
}

// The wallets' database is whole, the rest of the data directory is gone: after a lost disk, or
// with PostgreSQL and another machine.
class WalletWithoutHeaders : public WalletRescan {
 protected:
  void lose_all_but_the_wallet() const {
    namespace fs = std::filesystem;
    const fs::path kept = dir_.path() / "kept";
    fs::create_directory(kept);
    for (const auto& file : fs::directory_iterator(data()))
      if (file.path().filename().string().starts_with("wallet.db"))
        fs::rename(file.path(), kept / file.path().filename());
    ASSERT_FALSE(fs::is_empty(kept));
    fs::remove_all(data());
    fs::rename(kept, data());
  }
  // Of what is unspent on the chain the wallet lacks nothing, but the mempool may have spent some.
  void expect_same_chain(const Unspent& expected) const {
    const std::set<std::string> unspent = mined("confirmed,immature,locked");
    EXPECT_FALSE(unspent.empty());
    for (const std::string& coin : unspent) EXPECT_TRUE(expected.outpoints.contains(coin)) << coin;
    const std::set<std::string> all = mined("confirmed,immature,locked,spent");
    for (const std::string& coin : expected.outpoints) EXPECT_TRUE(all.contains(coin)) << coin;
    EXPECT_NE(text({"wallet", "verify"}).find("fits together"), std::string::npos);
  }
};

TEST_F(WalletWithoutHeaders, ContinuesFromItsTip) {
  (void)text({"sync", "--to", "150"});
  const Unspent all = unspent();
  make_wallet(all.scripts);
  (void)text({"wallet", "rescan", "all"});
  ASSERT_NO_FATAL_FAILURE(lose_all_but_the_wallet());
  (void)text({"sync", "--to", "40"});  // the wallet is still ahead
  EXPECT_EQ(as_json({"wallet", "balance", "all"}).at("tip_height").to_number<int>(), 150);
  (void)text({"sync", "--to", "170"});
  EXPECT_EQ(as_json({"wallet", "balance", "all"}).at("tip_height").to_number<int>(), 170);
  expect_same_chain(unspent(all.scripts));
}

TEST_F(WalletWithoutHeaders, LeavesAnUnknownBranch) {
  (void)text({"sync", "--to", "150"});
  const Unspent all = unspent();
  make_wallet(all.scripts);
  (void)text({"wallet", "rescan", "all"});
  expect_balance(all);
  ASSERT_NO_FATAL_FAILURE(lose_all_but_the_wallet());
  (void)text({"sync", "--to", "170", "--devnet-seed", "99"});
  const Unspent there = unspent(all.scripts);
  EXPECT_NE(there.value, all.value);
  EXPECT_EQ(as_json({"wallet", "balance", "all"}).at("tip_height").to_number<int>(), 170);
  expect_same_chain(there);
}

TEST_F(WalletRescan, RunsInTheDaemon) {
  (void)text({"sync", "--to", "150"});
  const Unspent all = unspent();
  make_wallet(all.scripts);
  const auto running = daemon();
  // A name is a name: nothing else is asked of the daemon.
  for (const char* name : {"all/prune?", "all/prune#", "../wallets/all/prune?x="})
    test::expect_refusal(run({"wallet", "rescan", name, "--data", data()}), 1, "no wallet");
  std::ifstream audit(data() + "/audit.log");
  for (std::string line; std::getline(audit, line);) {
    const bj::value entry = bj::parse(line);
    const bj::value* route = entry.as_object().if_contains("route");
    const bool prunes = route != nullptr && route->as_string().find("prune") != bj::string::npos;
    EXPECT_FALSE(prunes) << line;
  }
  const bj::value asked = as_json({"wallet", "rescan", "all"});
  EXPECT_EQ(asked.at("name").as_string(), "all");
  EXPECT_TRUE(eventually([&] { return !rescan_next(); })) << running->err();
  EXPECT_GE(as_json({"wallet", "balance", "all"}).at("coins").to_number<std::uint64_t>(), 1u);
  ASSERT_NO_FATAL_FAILURE(stop(*running));
  // Nothing is left to be found.
  EXPECT_EQ(as_json({"wallet", "rescan", "all"}).at("changed").to_number<std::uint64_t>(), 0u);
}

TEST_F(WalletRescan, DaemonDeletesExpiredLeases) {
  (void)text({"sync", "--to", "150"});
  make_wallet(unspent().scripts);
  (void)text({"wallet", "rescan", "all"});
  const bj::value coin = as_json({"wallet", "coins", "all", "--spendable"}).at("coins").at(0);
  (void)text({"wallet", "lease", "all",
              fmt::format("{}#{}", coin.at("tx_hash").as_string().c_str(),
                          coin.at("output_index").to_number<int>()),
              "--lock-id", std::string(64, 'a'), "--for", "1ms"});
  const auto leases = [&] {
    return as_json({"wallet", "stats"}).at("leases").to_number<std::uint64_t>();
  };
  EXPECT_EQ(leases(), 1u);
  const auto running = daemon();
  EXPECT_TRUE(eventually([&] { return leases() == 0; })) << running->err();
  ASSERT_NO_FATAL_FAILURE(stop(*running));
}

TEST_F(WalletRescan, BeginsAtBirthdayOrGivenHeight) {
  (void)text({"sync", "--to", "150"});
  const Unspent all = unspent(), young = unspent({}, 100), younger = unspent({}, 130);
  ASSERT_GT(all.count, young.count);
  ASSERT_GT(young.count, younger.count);
  ASSERT_GT(younger.count, 0u);
  make_wallet(all.scripts, 100);
  const bj::value wallet = as_json({"wallet", "list"}).at("wallets").at(0);
  EXPECT_EQ(wallet.at("birthday_height").to_number<int>(), 100);
  const bj::value late = as_json({"wallet", "rescan", "all", "--from", "130"});
  EXPECT_EQ(late.at("blocks").to_number<int>(), 21);
  expect_balance(younger);
  const bj::value since_birth = as_json({"wallet", "rescan", "all"});
  EXPECT_EQ(since_birth.at("blocks").to_number<int>(), 51);
  expect_balance(young);
  // Somebody remembers older coins.
  EXPECT_EQ(as_json({"wallet", "rescan", "all", "--from", "0"}).at("blocks").to_number<int>(), 151);
  expect_balance(all);
}

TEST_F(WalletRescan, DaemonBeginsAtTheBirthday) {
  (void)text({"sync", "--to", "150"});
  const Unspent all = unspent(), young = unspent({}, 100);
  make_wallet(all.scripts, 100);
  const auto running = daemon();
  const bj::value asked = as_json({"wallet", "rescan", "all"});
  EXPECT_EQ(asked.at("rescan_next").to_number<int>(), 100);
  EXPECT_TRUE(eventually([&] { return !rescan_next(); })) << running->err();
  ASSERT_NO_FATAL_FAILURE(stop(*running));
  // What the mempool paid or spent meanwhile is beside it.
  EXPECT_EQ(as_json({"wallet", "rescan", "all"}).at("changed").to_number<int>(), 0);
  EXPECT_GE(as_json({"wallet", "balance", "all"}).at("coins").to_number<std::uint64_t>(), 1u);
  const bj::value coins = as_json({"wallet", "coins", "all", "--order", "oldest", "--state",
                                   "confirmed,immature,spent", "--count", "1000"});
  ASSERT_FALSE(coins.at("coins").as_array().empty());
  for (const bj::value& coin : coins.at("coins").as_array())
    EXPECT_TRUE(coin.at("height").is_null() || coin.at("height").to_number<int>() >= 100) << coin;
}

// It saves how far it is now and then, so that a crash costs a part of it only.
TEST_F(WalletRescan, ContinuesAfterTheDaemonWasKilled) {
  (void)text({"sync", "--to", "1100"});
  const Unspent all = unspent();
  make_wallet(all.scripts, 7);
  auto running = daemon();
  (void)as_json({"wallet", "rescan", "all"});
  std::optional<std::uint64_t> reached;
  ASSERT_TRUE(eventually([&] {
    reached = rescan_next();
    return !reached || *reached > 7;
  })) << running->err();
  running->kill(SIGKILL);
  (void)running->wait();
  const std::uint64_t left = rescan_next().value_or(1'101);  // or it was faster than the kill
  EXPECT_GE(left, reached.value_or(1'101));
  EXPECT_NE(text({"wallet", "verify"}).find("fits together"), std::string::npos);

  running = daemon();
  EXPECT_TRUE(eventually([&] {
    const auto next = rescan_next();
    EXPECT_GE(next.value_or(left), left);  // not from the beginning
    return !next;
  })) << running->err();
  ASSERT_NO_FATAL_FAILURE(stop(*running));
  EXPECT_EQ(as_json({"wallet", "rescan", "all"}).at("changed").to_number<int>(), 0);
  EXPECT_NE(text({"wallet", "verify"}).find("fits together"), std::string::npos);
  const Unspent since = unspent({}, 7);
  std::set<std::string> found = mined("confirmed,immature,spent,locked");
  for (const std::string& coin : since.outpoints) EXPECT_TRUE(found.contains(coin)) << coin;
}

TEST_F(WalletRescan, ImportHistoryKeepsABackup) {
  (void)text({"wallet", "create", "old", "--network", "regtest"});
  const std::string file = (dir_.path() / "history.jsonl").string();
  std::ofstream(file) << R"({"coffer_history":1,"chain":"bitcoin","network":"regtest"})" << "\n"
                      << R"({"script":"00140707070707070707070707070707070707070707"})" << "\n";
  const bj::value tried = as_json({"wallet", "import-history", "old", file, "--dry-run"});
  EXPECT_TRUE(tried.at("dry_run").as_bool());
  EXPECT_EQ(tried.at("addresses").to_number<std::uint64_t>(), 1u);
  const std::string done = text({"wallet", "import-history", "old", file});
  EXPECT_NE(done.find("1 address,"), std::string::npos) << done;
  EXPECT_NE(done.find("coffer db restore"), std::string::npos) << done;
  EXPECT_EQ(as_json({"wallet", "addresses", "old"}).at("addresses").as_array().size(), 1u);
  const std::string backup = data() + "/wallet.db.before-import-1";
  (void)text({"db", "restore", backup, "--replace", "--network", "regtest"});
  EXPECT_EQ(as_json({"wallet", "addresses", "old"}).at("addresses").as_array().size(), 0u);
}

TEST_F(WalletRescan, ImportHistoryNamesItsBackup) {
  (void)text({"wallet", "create", "here", "--network", "regtest"});  // another, which stays
  const std::string elsewhere = "sqlite:" + (dir_.path() / "else where.db").string();
  const std::vector<std::string> setting = {"COFFER_WALLET_DATABASE=" + elsewhere};
  const auto at_else = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--data", data()});
    const Finished end = run(arguments, setting);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  };
  const std::string file = (dir_.path() / "history.jsonl").string();
  std::ofstream(file) << R"({"coffer_history":1,"chain":"bitcoin","network":"regtest"})" << "\n"
                      << R"({"script":"51"})" << "\n";
  (void)at_else({"wallet", "create", "old", "--network", "regtest"});
  const std::string done = at_else({"wallet", "import-history", "old", file});
  const std::size_t begin = done.find("coffer db restore");
  ASSERT_NE(begin, std::string::npos) << done;
  // Typed where the setting is not.
  const std::string line = done.substr(begin, done.find('\n') - begin);
  const std::string command = test::coffer() + line.substr(std::string("coffer").size());
  ASSERT_EQ(std::system((command + " >/dev/null 2>&1").c_str()), 0) << command;
  EXPECT_EQ(at_else({"wallet", "addresses", "old"}).find("51"), std::string::npos);
  EXPECT_EQ(as_json({"wallet", "list"}).at("wallets").at(0).at("name").as_string(), "here");
}

TEST_F(WalletRescan, UnreadableRescanIsReported) {  // E6
  (void)text({"sync", "--to", "5"});
  (void)text({"wallet", "create", "all"});
  {
    sql::DatabaseOptions options;
    options.location = "sqlite:" + data() + "/wallet.db";
    const auto database = sql::Database::open(options).value();
    ASSERT_TRUE(database->run_transaction([](sql::Transaction& at) {
      return at.script("ALTER TABLE wallets RENAME COLUMN gap_limit TO gap");
    }));
  }
  test::Process daemon({test::coffer(), "serve", "--data", data(), "--devnet-block-interval-ms",
                        "3600000", "--http-listen",
                        "127.0.0.1:" + std::to_string(test::free_port())});
  const std::string said = "rescans could not be looked up";
  for (int i = 0; i < 600 && daemon.err().find(said) == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_NE(daemon.err().find(said), std::string::npos) << daemon.err();
}

}  // namespace
}  // namespace coffer
