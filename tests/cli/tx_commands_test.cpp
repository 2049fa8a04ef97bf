// coffer tx, as a newcomer types it: every command once, and what is wrong in one line.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <sstream>

#include "base/temp_dir.h"
#include "http/client.h"
#include "support/daemon.h"
#include "support/process.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::expect_refusal;
using test::Finished;
using test::run;

const std::string kNoTx(64, '0');

class TxCommands : public testing::Test {
 protected:
  std::string data(const char* name = "data") const { return (dir_.path() / name).string(); }
  // Long enough for cleanup to delete something: the window is 288.
  void sync(std::uint64_t to = 450, std::vector<std::string> more = {}, const char* name = "data") {
    std::vector<std::string> arguments = {"sync",   "--to",     std::to_string(to),
                                          "--data", data(name), "--txstore-enabled"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Finished end = run(arguments);
    ASSERT_EQ(end.exit_code, 0) << end.err;
  }
  Finished tx(std::vector<std::string> arguments, const char* name = "data") const {
    arguments.insert(arguments.begin(), "tx");
    arguments.insert(arguments.end(), {"--data", data(name)});
    return run(arguments);
  }
  std::string text(std::vector<std::string> arguments, const char* name = "data") const {
    const Finished end = tx(std::move(arguments), name);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  bj::value as_json(std::vector<std::string> arguments, const char* name = "data") const {
    arguments.emplace_back("--json");
    return bj::parse(text(std::move(arguments), name));
  }
  // The lines of `dump` as fields.
  std::vector<std::vector<std::string>> dumped(const char* name = "data") const {
    std::vector<std::vector<std::string>> rows;
    std::istringstream lines(text({"dump"}, name));
    for (std::string line; std::getline(lines, line);) {
      rows.emplace_back();
      std::istringstream fields(line + "|");
      for (std::string field; std::getline(fields, field, '|');) rows.back().push_back(field);
    }
    return rows;
  }
  // A mined transaction with something unspent; and one that has a stamp.
  std::string unspent_tx() const {
    return found_tx([](const auto& row) { return row[3].empty(); });
  }
  std::string stamped_tx() const {
    return found_tx([](const auto& row) { return !row[3].empty(); });
  }
  template <typename Condition>
  std::string found_tx(Condition condition) const {
    for (const auto& row : dumped())
      if (row.at(1) == "mined" && condition(row)) return row[0];
    ADD_FAILURE() << "no such transaction";
    return kNoTx;
  }
  // The first output of a transaction that is unspent.
  std::string unspent_output(const std::string& id) const {
    const bj::value got = as_json({"get", id});
    for (const bj::value& output : got.at("outputs").as_array())
      if (output.at("spendable").as_bool() && !output.at("spent").as_bool())
        return id + "#" + std::to_string(output.at("index").to_number<int>());
    ADD_FAILURE() << id << " has none";
    return id + "#0";
  }
  TempDir dir_;
};

TEST_F(TxCommands, HelpListsEveryCommandWithExamples) {
  const Finished help = run({"tx", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name : {"get", "explain", "list", "dump", "digest", "stats", "verify", "prune",
                           "preserve", "freeze", "unfreeze", "rebuild"}) {
    EXPECT_NE(help.out.find(std::string("\n  ") + name), std::string::npos) << name;
    const Finished one = run({"tx", name, "--help"});
    EXPECT_EQ(one.exit_code, 0) << name;
    EXPECT_NE(one.out.find("Examples:"), std::string::npos) << name;
  }
  expect_refusal(run({"tx"}), 2, "coffer tx --help");
}

TEST_F(TxCommands, MissingDataSaysHowToBegin) {
  for (const char* name : {"stats", "dump", "digest", "verify", "prune", "rebuild"})
    expect_refusal(tx({name}), 1, "coffer demo");
  expect_refusal(tx({"get", kNoTx}), 1, "coffer demo");
  expect_refusal(tx({"freeze", kNoTx + "#0"}), 1, "coffer demo");
  EXPECT_FALSE(std::filesystem::exists(data()));
}

TEST_F(TxCommands, StoreThatWasNeverOnNamesTheSetting) {
  ASSERT_EQ(run({"sync", "--to", "20", "--data", data()}).exit_code, 0);
  for (const char* name : {"stats", "prune", "rebuild"})
    expect_refusal(tx({name}), 1, "--txstore-enabled");
  expect_refusal(tx({"preserve", kNoTx, "--until", "5"}), 1, "--txstore-enabled");
  const bj::value status = bj::parse(run({"status", "--json", "--data", data()}).out);
  EXPECT_TRUE(status.at("txstore").is_null());
}

TEST_F(TxCommands, StatsDumpAndDigestAgree) {
  ASSERT_NO_FATAL_FAILURE(sync());
  const bj::value stats = as_json({"stats"});
  const auto rows = dumped();
  EXPECT_EQ(stats.at("records").to_number<std::size_t>(), rows.size());
  EXPECT_EQ(stats.at("backend").as_string(), "rocksdb");
  EXPECT_EQ(stats.at("parent_missing").to_number<int>(), 0);
  EXPECT_FALSE(stats.at("damaged").as_bool());
  EXPECT_GT(stats.at("deleted").to_number<int>(), 0);
  EXPECT_TRUE(stats.at("first_block").is_null());
  std::set<std::string> ids;
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), 6u);
    EXPECT_TRUE(ids.insert(row[0]).second) << row[0];
  }
  EXPECT_EQ(as_json({"digest"}).at("count").to_number<std::size_t>(), rows.size());
  EXPECT_EQ(text({"digest"}), text({"digest"}));
  EXPECT_NE(text({"stats"}).find("final height  162"), std::string::npos) << text({"stats"});
  const std::string lines = text({"dump", "--json"});
  EXPECT_EQ(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')), rows.size());
  const bj::value first = bj::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(first.at("tx_hash").as_string(), rows.front()[0]);
  const bj::value status = bj::parse(run({"status", "--json", "--data", data()}).out);
  EXPECT_EQ(status.at("txstore").at("records").to_number<std::size_t>(), rows.size());
  EXPECT_NE(run({"status", "--data", data()}).out.find("stored    "), std::string::npos);
}

TEST_F(TxCommands, GetShowsInputsOutputsAndBytes) {
  ASSERT_NO_FATAL_FAILURE(sync());
  const std::string id = unspent_tx();
  const std::string shown = text({"get", id});
  EXPECT_NE(shown.find("transaction   " + id), std::string::npos) << shown;
  EXPECT_NE(shown.find("confirmations"), std::string::npos) << shown;
  const bj::value got = as_json({"get", id});
  EXPECT_EQ(got.at("tx_hash").as_string(), id);
  const std::string raw = text({"get", id, "--raw"});
  EXPECT_EQ(raw.size(), 2 * got.at("size").to_number<std::size_t>() + 1);
  EXPECT_EQ(std::string(as_json({"get", id, "--raw"}).at("hex").as_string()) + "\n", raw);
  expect_refusal(tx({"get", "00"}), 2, "64 hex digits");
  expect_refusal(tx({"get", id, "--outputs-count", "1001"}), 2, "1000");
}

TEST_F(TxCommands, NotStoredIsOneLineAndAField) {
  ASSERT_NO_FATAL_FAILURE(sync(150));
  for (const char* name : {"get", "explain"}) {
    expect_refusal(tx({name, kNoTx}), 1, "is unknown");
    const Finished end = tx({name, kNoTx, "--json"});
    EXPECT_EQ(end.exit_code, 1);
    const bj::value answer = bj::parse(end.out);
    EXPECT_FALSE(answer.at("stored").as_bool());
    EXPECT_EQ(answer.at("absence").as_string(), "unknown");
  }
}

TEST_F(TxCommands, ExplainSaysWhyAndWhen) {
  ASSERT_NO_FATAL_FAILURE(sync());
  const std::string unspent = unspent_tx(), stamped = stamped_tx();
  EXPECT_EQ(as_json({"explain", unspent}).at("reason").as_string(), "unspent");
  EXPECT_NE(text({"explain", unspent}).find("not by the passing of blocks alone"),
            std::string::npos);
  const bj::value why = as_json({"explain", stamped});
  EXPECT_FALSE(why.at("delete_at_height").is_null());
  EXPECT_FALSE(why.at("due_at").is_null());
  EXPECT_NE(text({"explain", stamped}).find("next look"), std::string::npos);
}

TEST_F(TxCommands, ListsComeInPages) {
  ASSERT_NO_FATAL_FAILURE(sync());
  const bj::value all = as_json({"list", "--unmined"});
  std::string cursor;
  bj::array joined;
  do {
    std::vector<std::string> arguments = {"list", "--unmined", "--count", "3"};
    if (!cursor.empty()) arguments.insert(arguments.end(), {"--cursor", cursor});
    const bj::value page = as_json(arguments);
    for (const bj::value& one : page.at("transactions").as_array()) joined.push_back(one);
    cursor = page.at("next_cursor").is_null() ? "" : page.at("next_cursor").as_string().c_str();
  } while (!cursor.empty());
  EXPECT_EQ(bj::value(joined), all.at("transactions"));
  EXPECT_EQ(joined.size(), as_json({"stats"}).at("unmined").to_number<std::size_t>());
  (void)as_json({"list", "--conflicting"});
  (void)as_json({"list", "--kept", "child_not_final"});
  (void)text({"list", "--unmined", "--older-than", "5"});
  expect_refusal(tx({"list"}), 2, "--unmined");
  expect_refusal(tx({"list", "--unmined", "--conflicting"}), 2, "one of");
  expect_refusal(tx({"list", "--kept", "laziness"}), 2, "child_unmined");
  expect_refusal(tx({"list", "--conflicting", "--older-than", "5"}), 2, "--unmined");
  expect_refusal(tx({"list", "--unmined", "--cursor", "x"}), 2, "cursor");
}

TEST_F(TxCommands, VerifyAndPrune) {
  ASSERT_NO_FATAL_FAILURE(sync());
  EXPECT_NE(text({"verify"}).find("all of it fits together"), std::string::npos);
  EXPECT_TRUE(as_json({"verify"}).at("ok").as_bool());
  const std::string before = text({"digest"});
  const bj::value planned = as_json({"prune", "--dry-run"});
  EXPECT_TRUE(planned.at("dry_run").as_bool());
  EXPECT_EQ(text({"digest"}), before);
  const bj::value done = as_json({"prune"});
  EXPECT_EQ(done.at("deleted"), planned.at("deleted"));
  EXPECT_TRUE(done.at("done").as_bool());
  EXPECT_NE(text({"prune"}).find("deleted"), std::string::npos);
  EXPECT_TRUE(as_json({"verify"}).at("ok").as_bool());
}

TEST_F(TxCommands, FreezeAndPreserveSurviveARebuild) {
  ASSERT_NO_FATAL_FAILURE(sync());
  const std::string kept = stamped_tx(), output = unspent_output(unspent_tx());
  const std::string frozen_tx = output.substr(0, 64);
  EXPECT_NE(text({"freeze", output}).find(output + " is frozen"), std::string::npos);
  EXPECT_EQ(as_json({"freeze", output}).at("outcome").as_string(), "unchanged");
  EXPECT_EQ(as_json({"preserve", kept, "--until", "100000"}).at("outcome").as_string(), "done");
  EXPECT_NE(text({"rebuild"}).find("the next start fills it again"), std::string::npos);
  EXPECT_NE(tx({"stats"}).out.find("transactions  0 "), std::string::npos);
  ASSERT_NO_FATAL_FAILURE(sync(451));
  EXPECT_EQ(as_json({"explain", kept}).at("reason").as_string(), "preserved");
  EXPECT_NE(text({"get", frozen_tx}).find("frozen"), std::string::npos);
  EXPECT_NE(text({"unfreeze", output}).find("no longer frozen"), std::string::npos);
  expect_refusal(tx({"unfreeze", output}), 1, "is not frozen");
  EXPECT_TRUE(as_json({"verify"}).at("ok").as_bool());
}

TEST_F(TxCommands, BadMarksAreRefusedInOneLine) {
  ASSERT_NO_FATAL_FAILURE(sync(150));
  const std::string id = unspent_tx();
  expect_refusal(tx({"freeze", kNoTx + "#0"}), 1, "is unknown");
  expect_refusal(tx({"freeze", id}), 2, "TX#INDEX");
  expect_refusal(tx({"freeze", id + "#99999"}), 1, "no output");
  expect_refusal(tx({"preserve", id}), 2, "--until");
  expect_refusal(tx({"preserve", id, "--until", "soon"}), 2, "--until");
  expect_refusal(tx({"preserve", kNoTx, "--until", "5"}), 1, "is unknown");
}

TEST_F(TxCommands, DaemonDoesTheWorkWhileItRuns) {
  ASSERT_NO_FATAL_FAILURE(sync(150));
  const std::string id = unspent_tx();
  const std::string output = unspent_output(id);
  test::Daemon daemon(data(), {"--txstore-enabled", "--devnet-block-interval-ms", "60000"});
  ASSERT_TRUE(daemon.eventually([&] { return daemon.has_caught_up(); }));
  EXPECT_EQ(as_json({"freeze", output}).at("outcome").as_string(), "done");
  EXPECT_NE(text({"prune", "--dry-run"}).find("would be deleted"), std::string::npos);
  EXPECT_NE(text({"preserve", id, "--until", "9000"}).find("is kept until"), std::string::npos);
  expect_refusal(tx({"freeze", kNoTx + "#0"}), 1, "is unknown");
  expect_refusal(tx({"rebuild"}), 3, "stop it first");
  const auto answer = http::get(daemon.url() + "/api/v1/txs/" + id);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 200);
  EXPECT_NE(answer->content().find("\"frozen\":true"), std::string::npos);
  EXPECT_EQ(daemon.stop(), 0);
  EXPECT_NE(text({"get", id}).find("frozen"), std::string::npos);
}

TEST_F(TxCommands, DemoHasItOnAndServeHasNot) {
  for (const bool demo : {true, false}) {
    test::Process daemon({test::coffer(), demo ? "demo" : "serve", "--json", "--data",
                          data(demo ? "demo" : "serve"), "--listen", "127.0.0.1:0"});
    ASSERT_TRUE(daemon.wait_for_output("\"url\"")) << daemon.err();
    const std::string url(bj::parse(daemon.out()).at("url").as_string());
    const auto status = http::get(url + "/api/v1/status");
    ASSERT_TRUE(status);
    EXPECT_EQ(bj::parse(status->content()).at("txstore").is_null(), !demo) << status->content();
    daemon.kill(SIGTERM);
    EXPECT_EQ(daemon.wait(20'000)->exit_code, 0) << daemon.err();
  }
}

// X5: a store that is switched on later begins at the tip and says so of what is older.
TEST_F(TxCommands, StartAtTipAnswersBeforeStart) {
  ASSERT_NO_FATAL_FAILURE(sync(200, {}, "whole"));
  std::string old_tx, new_tx;
  for (const auto& row : dumped("whole")) {
    if (row[1] == "mined" && row[2] == "100") old_tx = row[0];
    if (row[1] == "mined" && row[2] == "180") new_tx = row[0];
  }
  ASSERT_FALSE(old_tx.empty() || new_tx.empty());
  const Finished without = run({"sync", "--to", "150", "--data", data()});
  ASSERT_EQ(without.exit_code, 0) << without.err;
  ASSERT_NO_FATAL_FAILURE(sync(200, {"--txstore-start", "tip"}));
  EXPECT_EQ(as_json({"stats"}).at("first_block").to_number<std::int64_t>(), 150);
  expect_refusal(tx({"get", old_tx}), 1, "began at block 150");
  EXPECT_NE(text({"get", new_tx}).find("mined"), std::string::npos);
  EXPECT_TRUE(as_json({"verify"}).at("ok").as_bool());
  for (const auto& row : dumped()) EXPECT_TRUE(row[2].empty() || std::stoi(row[2]) > 150) << row[0];
}

}  // namespace
}  // namespace coffer
