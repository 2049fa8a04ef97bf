// coffer utxo, as a newcomer types it: every command once, and what is wrong in one line.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <fstream>

#include <coffer/kv/database.h>
#include "base/temp_dir.h"
#include "http/client.h"
#include "support/process.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;
namespace bj = boost::json;
using test::expect_refusal;
using test::Finished;
using test::Process;
using test::run;

class UtxoCommands : public testing::Test {
 protected:
  std::string data(const char* name = "data") const { return (dir_.path() / name).string(); }
  Finished sync(std::vector<std::string> more = {}, const char* name = "data") const {
    std::vector<std::string> arguments = {"sync", "--to", "150", "--data", data(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }
  // coffer utxo ARGUMENTS --data …
  Finished utxo(std::vector<std::string> arguments, const char* name = "data") const {
    arguments.insert(arguments.begin(), "utxo");
    arguments.insert(arguments.end(), {"--data", data(name)});
    return run(arguments);
  }
  std::string text(std::vector<std::string> arguments, const char* name = "data") const {
    const Finished end = utxo(std::move(arguments), name);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  bj::value as_json(std::vector<std::string> arguments, const char* name = "data") const {
    arguments.emplace_back("--json");
    return bj::parse(text(std::move(arguments), name));
  }
  std::string digest(const char* name = "data") const { return text({"digest"}, name); }
  // Some unspent output, in the words of `dump --json`.
  bj::value some_output(const char* name = "data") const {
    const std::string lines = text({"dump", "--json"}, name);
    return bj::parse(lines.substr(0, lines.find('\n')));
  }
  static std::string outpoint(const bj::value& output) {
    return std::string(output.at("tx_hash").as_string()) + "#" +
           std::to_string(output.at("output_index").to_number<int>());
  }
  TempDir dir_;
};

TEST_F(UtxoCommands, HelpListsEveryCommandWithExamples) {
  const Finished help = run({"utxo", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name :
       {"get", "address", "credential", "balance", "stats", "dump", "digest", "rollback", "verify",
        "rebuild", "snapshot", "restore", "root", "proof", "check-proof"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + name), std::string::npos) << name;
    EXPECT_EQ(run({"utxo", name, "--help"}).exit_code, 0) << name;
  }
  EXPECT_NE(help.out.find("Examples:"), std::string::npos);
  expect_refusal(run({"utxo"}), 2, "coffer utxo --help");
  expect_refusal(run({"utxo", "fly"}), 2, "coffer utxo --help");
}

TEST_F(UtxoCommands, MissingDataSaysHowToBegin) {
  for (const char* name : {"stats", "dump", "digest", "verify"})
    expect_refusal(utxo({name}), 1, "coffer demo");
  expect_refusal(utxo({"rollback", "3"}), 1, "coffer demo");
  expect_refusal(utxo({"snapshot", data("copy")}), 1, "coffer demo");
  EXPECT_FALSE(fs::exists(data()));
  EXPECT_FALSE(fs::exists(data("copy")));
}

TEST_F(UtxoCommands, WrongGenesisFilesCreateNothing) {
  const std::string source = "immutable:" + data("nowhere");
  expect_refusal(run({"sync", "--chain", "cardano", "--network", "preview", "--source", source,
                      "--genesis", data("nothing"), "--data", data()}),
                 1, "byron-genesis.json");
  fs::create_directory(data("genesis"));
  std::ofstream(data("genesis") + "/shelley-genesis.json") << R"({"networkMagic":1})";
  expect_refusal(run({"sync", "--chain", "cardano", "--network", "preview", "--source", source,
                      "--genesis", data("genesis"), "--data", data()}),
                 2, "magic 1, not of preview");
  expect_refusal(sync({"--genesis", data("genesis")}), 2, "remove --genesis");
  EXPECT_FALSE(fs::exists(data()));
}

TEST_F(UtxoCommands, AmountsCarryTheUnitOfTheirChain) {
  for (const std::string chain : {"bitcoin", "cardano"}) {
    const char* name = chain.c_str();
    ASSERT_EQ(sync({"--chain", chain}, name).exit_code, 0);
    const std::string unit = chain == "bitcoin" ? "satoshi" : "lovelace";
    const std::string other = chain == "bitcoin" ? "lovelace" : "satoshi";
    const bj::value output = some_output(name);
    const std::string owner(output.at("owner_addr").as_string());
    const std::vector<std::vector<std::string>> commands = {
        {"stats"}, {"digest"}, {"get", outpoint(output)}, {"address", owner}, {"balance", owner}};
    for (const std::vector<std::string>& command : commands) {
      const std::string shown = text(command, name);
      EXPECT_NE(shown.find(unit), std::string::npos) << shown;
      EXPECT_EQ(shown.find(other), std::string::npos) << shown;
      const std::string fields = bj::serialize(as_json(command, name));
      EXPECT_EQ(fields.find(other), std::string::npos) << fields;
      if (command[0] == "digest") continue;  // named as the oracle names it
      EXPECT_NE(fields.find("\"" + unit + "_amount\":\""), std::string::npos) << fields;
    }
    const std::string status = run({"status", "--data", data(name)}).out;
    EXPECT_NE(status.find(" " + unit + "\n"), std::string::npos) << status;
    const bj::value fields =
        bj::parse(run({"status", "--json", "--data", data(name)}).out).at("utxo");
    EXPECT_EQ(fields.at("unit").as_string(), unit);
    // Bitcoin has no slots.
    EXPECT_EQ(text({"get", outpoint(output)}, name).find("slot") != std::string::npos,
              chain == "cardano");
  }
}

TEST_F(UtxoCommands, ReadingABitcoinChain) {
  ASSERT_EQ(sync().exit_code, 0);
  const bj::value stats = as_json({"stats"});
  EXPECT_EQ(stats.at("block").to_number<int>(), 150);
  EXPECT_EQ(stats.at("store").as_string(), "classic");
  EXPECT_NE(text({"stats"}).find("150 "), std::string::npos);

  // dump, digest and stats agree on the count; every line is one output.
  const std::string dump = text({"dump"});
  const auto lines = static_cast<std::uint64_t>(std::count(dump.begin(), dump.end(), '\n'));
  EXPECT_EQ(stats.at("unspent").to_number<std::uint64_t>(), lines);
  const bj::value digest_json = as_json({"digest"});
  EXPECT_EQ(digest_json.at("count").to_number<std::uint64_t>(), lines);
  EXPECT_EQ(digest_json.at("value"), stats.at("satoshi_amount"));
  EXPECT_NE(digest().find(digest_json.at("acc").as_string().c_str()), std::string::npos);

  const bj::value output = some_output();
  const std::string tx(output.at("tx_hash").as_string());
  EXPECT_EQ(dump.substr(0, 64), tx);
  const bj::value got = as_json({"get", outpoint(output)});
  EXPECT_FALSE(got.at("spent").as_bool());
  for (const auto& [key, value] : output.as_object()) EXPECT_EQ(got.at(key), value) << key;
  EXPECT_NE(text({"get", outpoint(output)}).find("unspent"), std::string::npos);
  EXPECT_NE(text({"get", tx + ":" + std::to_string(output.at("output_index").to_number<int>())})
                .find("unspent"),
            std::string::npos);

  const std::string owner(output.at("owner_addr").as_string());
  const bj::value page = as_json({"address", owner, "--count", "1"});
  ASSERT_EQ(page.at("utxos").as_array().size(), 1u);
  EXPECT_EQ(page.at("utxos").at(0).at("owner_addr").as_string(), owner);
  EXPECT_NE(text({"address", owner}).find(tx), std::string::npos);
  const bj::value balance = as_json({"balance", owner});
  EXPECT_EQ(balance.at("address").as_string(), owner);
  EXPECT_TRUE(balance.at("next_cursor").is_null());
  EXPECT_NE(text({"balance", owner}).find("satoshi"), std::string::npos);
  EXPECT_NE(text({"verify"}).find("fits together"), std::string::npos);
  EXPECT_TRUE(as_json({"verify"}).at("ok").as_bool());
}

TEST_F(UtxoCommands, ReadingACardanoChainByCredential) {
  ASSERT_EQ(sync({"--chain", "cardano"}).exit_code, 0);
  const bj::value output = some_output();
  const std::string credential(output.at("owner_payment_credential").as_string());
  const bj::value page = as_json({"credential", credential});
  EXPECT_FALSE(page.at("utxos").as_array().empty());
  for (const bj::value& one : page.at("utxos").as_array())
    EXPECT_EQ(one.at("owner_payment_credential").as_string(), credential);
  EXPECT_NE(text({"credential", credential}).find("lovelace"), std::string::npos);
  expect_refusal(utxo({"credential", "stake_vkh1qqq"}), 2, "credential");
  expect_refusal(utxo({"credential", "00"}), 2, "credential");
}

TEST_F(UtxoCommands, WrongInputIsReported) {
  ASSERT_EQ(sync().exit_code, 0);
  const std::string zeros(64, '0');
  expect_refusal(utxo({"get", "x"}), 2, "TX#INDEX");
  expect_refusal(utxo({"get", "00#0"}), 2, "64 hex digits");
  expect_refusal(utxo({"get", zeros + "#x"}), 2, "output index");
  expect_refusal(utxo({"get", zeros + "#0"}), 1, "no output");
  expect_refusal(utxo({"get"}), 2, "coffer utxo get --help");
  expect_refusal(utxo({"address", "nobody"}), 2, "address");
  expect_refusal(utxo({"balance", "nobody"}), 2, "address");
  expect_refusal(utxo({"credential", std::string(56, '0')}), 2, "bitcoin has none");
  const std::string script = "76a914" + std::string(40, '0') + "88ac";
  EXPECT_EQ(text({"address", script}), "no unspent outputs\n");
  expect_refusal(utxo({"address", script, "--count", "101"}), 2, "count");
  expect_refusal(utxo({"address", script, "--page", "0"}), 2, "page");
  expect_refusal(utxo({"address", script, "--order", "up"}), 2, "order");
  expect_refusal(utxo({"address", script, "--asset", "x"}), 2, "asset");
  expect_refusal(utxo({"address", script, "--cursor", "x"}), 2, "cursor");
  expect_refusal(utxo({"address", script, "--from-slot", "9", "--to-slot", "8"}), 2, "from_slot");
  expect_refusal(utxo({"root"}), 1, "utxo.store = mmr");
  expect_refusal(utxo({"proof", zeros + "#0"}), 1, "utxo.store = mmr");
  expect_refusal(utxo({"rollback", "many"}), 2, "block");
  expect_refusal(utxo({"rollback", "151"}), 1, "151");
  expect_refusal(utxo({"snapshot", data()}), 1, "exists already");
  expect_refusal(utxo({"restore", data("none")}, "other"), 1, "no snapshot");
}

TEST_F(UtxoCommands, RollbackUndoesAndTheNextSyncCatchesUp) {
  ASSERT_EQ(sync().exit_code, 0);
  ASSERT_EQ(run({"sync", "--to", "130", "--data", data("shorter")}).exit_code, 0);
  const std::string end = digest();
  EXPECT_NE(text({"rollback", "130"}).find("20 blocks undone"), std::string::npos);
  EXPECT_EQ(digest(), digest("shorter"));
  EXPECT_EQ(as_json({"stats"}).at("block").to_number<int>(), 130);
  EXPECT_EQ(as_json({"rollback", "130"}).at("undone_blocks").to_number<int>(), 0);
  expect_refusal(utxo({"rollback", "140"}), 1, "ahead");
  ASSERT_EQ(sync().exit_code, 0);
  EXPECT_EQ(digest(), end);
}

TEST_F(UtxoCommands, RebuildRefillsTheState) {
  ASSERT_EQ(sync().exit_code, 0);
  const std::string end = digest();
  EXPECT_EQ(utxo({"rebuild"}).exit_code, 0);
  expect_refusal(utxo({"digest"}), 1, "no UTXO state");
  ASSERT_EQ(sync().exit_code, 0);
  EXPECT_EQ(digest(), end);
  ASSERT_EQ(run({"rebuild", "utxo", "--data", data()}).exit_code, 0);
  expect_refusal(utxo({"digest"}), 1, "no UTXO state");
}

TEST_F(UtxoCommands, OtherSettingsAreRefusedUntilRebuilt) {  // U12
  ASSERT_EQ(sync().exit_code, 0);
  const std::string end = digest();
  expect_refusal(sync({"--utxo-store", "mmr"}), 1, "coffer utxo rebuild");
  EXPECT_EQ(digest(), end);
  ASSERT_EQ(utxo({"rebuild"}).exit_code, 0);
  ASSERT_EQ(sync({"--utxo-store", "mmr"}).exit_code, 0);
  EXPECT_EQ(digest(), end);
  EXPECT_EQ(as_json({"stats"}).at("store").as_string(), "mmr");
  // A rollback takes the settings from the data.
  EXPECT_EQ(utxo({"rollback", "30"}).exit_code, 0);
}

TEST_F(UtxoCommands, SnapshotIsADataDirectoryAndCanBeRestored) {
  ASSERT_EQ(sync().exit_code, 0);
  const std::string end = digest();
  EXPECT_NE(text({"snapshot", data("copy")}).find("block 150"), std::string::npos);
  EXPECT_EQ(digest("copy"), end);
  // Another restore may be at it: what it has copied so far is not touched.
  std::filesystem::create_directories(data("new/db.restoring/part"));
  expect_refusal(utxo({"restore", data("copy")}, "new"), 1, "another restore is running");
  EXPECT_EQ(std::filesystem::remove_all(data("new/db.restoring")), 2u);
  EXPECT_NE(text({"restore", data("copy")}, "new").find("block 150"), std::string::npos);
  EXPECT_EQ(digest("new"), end);
  expect_refusal(utxo({"restore", data("copy")}, "new"), 1, "holds data already");
  // The restored one goes on by itself; the snapshot stays as it was.
  ASSERT_EQ(run({"sync", "--to", "170", "--data", data("new")}).exit_code, 0);
  EXPECT_NE(digest("new"), end);
  EXPECT_EQ(digest("copy"), end);
  EXPECT_EQ(digest(), end);
}

TEST_F(UtxoCommands, ProofIsCheckedWithRootAlone) {
  ASSERT_EQ(sync({"--utxo-store", "mmr"}).exit_code, 0);
  const bj::value output = some_output();
  const bj::value newest = as_json({"root"});
  const std::string root(newest.at("root").as_string());
  EXPECT_EQ(newest.at("block").to_number<int>(), 150);
  EXPECT_NE(text({"root", "150"}).find(root), std::string::npos);
  const std::string proof = text({"proof", outpoint(output)});
  const std::string file = data("proof.json");
  std::ofstream(file) << proof;
  const auto check = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"utxo", "check-proof", file});
    return run(more);
  };
  const Finished good = check({"--root", root});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_NE(good.out.find(outpoint(output)), std::string::npos);
  EXPECT_EQ(check({"--root", root, "--output", outpoint(output)}).exit_code, 0);
  EXPECT_EQ(bj::parse(check({"--root", root, "--json"}).out).at("satoshi_amount"),
            output.at("satoshi_amount"));
  const std::string zeros(64, '0');
  expect_refusal(check({"--root", zeros}), 1, "another root");
  expect_refusal(check({"--root", "xyz"}), 2, "64 hex digits");
  expect_refusal(check({}), 2, "--root");
  expect_refusal(check({"--root", root, "--output", zeros + "#0"}), 1, "another output");
  expect_refusal(run({"utxo", "check-proof", data("none"), "--root", root}), 1, "none");
  expect_refusal(utxo({"root", "1000"}), 1, "1000");
  expect_refusal(utxo({"proof", zeros + "#0"}), 1, "not unspent");

  // What is readable must be what is proved.
  bj::value forged = bj::parse(proof);
  forged.at("tx_hash") = zeros;
  std::ofstream(file, std::ios::trunc) << forged;
  expect_refusal(check({"--root", root}), 1, "tx_hash");
  std::ofstream(file, std::ios::trunc) << "[]";
  expect_refusal(check({"--root", root}), 1, "not a proof");
  // An earlier block has its own root, and its own proof.
  const bj::value before = as_json({"root", "149"});
  if (output.at("block").to_number<int>() < 149) {
    std::ofstream(file, std::ios::trunc) << text({"proof", outpoint(output), "--block", "149"});
    EXPECT_EQ(check({"--root", std::string(before.at("root").as_string())}).exit_code, 0);
    expect_refusal(check({"--root", root}), 1, "root");
  }
}

TEST_F(UtxoCommands, DisabledKeepsNothingAndNamesTheSetting) {  // U13
  ASSERT_EQ(sync({"--utxo-enabled", "false"}).exit_code, 0);
  expect_refusal(utxo({"stats"}), 1, "utxo.enabled");
  {
    const auto db =
        kv::Database::open({.path = fs::path(data()) / "db", .columns = {}, .read_only = true});
    ASSERT_TRUE(db) << db.error().message;
    for (const std::string& column : (*db)->column_names())
      EXPECT_FALSE(column.starts_with("utxo")) << column;
  }
  const auto status = bj::parse(run({"status", "--json", "--data", data()}).out);
  EXPECT_TRUE(status.at("utxo").is_null());
  Process server({test::coffer(), "demo", "--json", "--data", data("served"), "--listen",
                  "127.0.0.1:0", "--utxo-enabled", "false"});
  ASSERT_TRUE(server.wait_for_output("\"url\"")) << server.err();
  const std::string url(bj::parse(server.out()).at("url").as_string());
  const auto answer = http::get(url + "/api/v1/addresses/x/utxos", {});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 503);
  EXPECT_NE(answer->body.find("utxo.enabled"), std::string::npos);
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(20'000)->exit_code, 0) << server.err();
}

TEST_F(UtxoCommands, CatchesUpAfterBeingDisabled) {  // U13, E10
  ASSERT_EQ(sync().exit_code, 0);
  ASSERT_EQ(run({"sync", "--to", "120", "--data", data("paused")}).exit_code, 0);
  const std::string before = digest("paused");
  ASSERT_EQ(sync({"--utxo-enabled", "false"}, "paused").exit_code, 0);
  EXPECT_EQ(digest("paused"), before);
  EXPECT_EQ(
      run({"utxo", "stats", "--data", data("paused")}, {"COFFER_UTXO_ENABLED=false"}).exit_code, 3);
  ASSERT_EQ(sync({}, "paused").exit_code, 0);
  EXPECT_EQ(digest("paused"), digest());
}

TEST_F(UtxoCommands, DisabledIndexIsNamed) {  // U12
  ASSERT_EQ(
      sync({"--chain", "cardano", "--utxo-indexing-strategy", "payment_credential"}).exit_code, 0);
  const bj::value output = some_output();
  expect_refusal(utxo({"address", std::string(output.at("owner_addr").as_string())}), 1,
                 "utxo.index.address_hash");
  expect_refusal(utxo({"balance", std::string(output.at("owner_addr").as_string())}), 1,
                 "utxo.index.address_hash");
  EXPECT_EQ(utxo({"credential", std::string(output.at("owner_payment_credential").as_string())})
                .exit_code,
            0);
  expect_refusal(sync({"--chain", "cardano"}), 1, "coffer utxo rebuild");
}

TEST_F(UtxoCommands, BesideADaemonReadingWorksAndWritingIsRefused) {
  Process server({test::coffer(), "demo", "--json", "--data", data(), "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(server.wait_for_output("\"url\"")) << server.err();
  const std::string url(bj::parse(server.out()).at("url").as_string());
  const auto get = [&](const std::string& path) {
    const auto answer = http::get(url + path, {});
    EXPECT_TRUE(answer) << answer.error().message;
    return answer ? std::string(answer->content()) : "";
  };
  // The premined blocks arrive soon; then HTTP and command line agree on an output.
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (get("/health/ready").find("\"ready\":true") == std::string::npos &&
         std::chrono::steady_clock::now() < end)
    ::usleep(50'000);  // readiness is polled, as its clients do
  const bj::value output = some_output();
  const std::string path = "/api/v1/utxos/" + std::string(output.at("tx_hash").as_string()) + "/" +
                           std::to_string(output.at("output_index").to_number<int>());
  EXPECT_EQ(bj::parse(get(path)).at("satoshi_amount"), output.at("satoshi_amount"));
  expect_refusal(utxo({"rollback", "1"}), 3, "in use by process");
  expect_refusal(utxo({"rebuild"}), 3, "in use by process");
  // A snapshot is the daemon's to make: a data directory of its own, whole.
  const Finished copied = utxo({"snapshot", data("copy")});
  EXPECT_EQ(copied.exit_code, 0) << copied.err;
  EXPECT_EQ(run({"utxo", "verify", "--data", data("copy")}).exit_code, 0);
  expect_refusal(utxo({"snapshot", data("copy")}), 1, "exists already");
  const std::string metrics = get("/metrics");
  for (const char* name :
       {"coffer_utxo_created_total", "coffer_utxo_spent_total", "coffer_utxo_pruned_total",
        "coffer_utxo_reversed_total", "coffer_utxo_missing_inputs_total",
        "coffer_utxo_unspendable_total", "coffer_utxo_apply_seconds_total",
        "coffer_utxo_rollback_seconds_total", "coffer_utxo_prune_seconds_total",
        "coffer_utxo_unspent", "coffer_utxo_coin", "coffer_utxo_addresses",
        "coffer_consumer_behind_blocks{consumer=\"utxo\"}"})
    EXPECT_NE(metrics.find(std::string("\n") + name), std::string::npos) << name;
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(20'000)->exit_code, 0) << server.err();
  EXPECT_NE(server.err().find("utxo state opened"), std::string::npos);
  EXPECT_NE(server.err().find("utxo state closed"), std::string::npos);
}

}  // namespace
}  // namespace coffer
