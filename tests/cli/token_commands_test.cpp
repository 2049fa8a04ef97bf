// coffer token as people type it, on a file and on PostgreSQL.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <thread>

#include "base/file.h"
#include "base/temp_dir.h"
#include "sql/test_engines.h"
#include "support/process.h"

namespace coffer {
namespace {

namespace bj = boost::json;
using test::expect_refusal;
using test::Finished;

class TokenCommands : public sql::test::EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    if (IsSkipped()) return;
    ASSERT_EQ(token({"init"}).exit_code, 0);
  }
  // coffer token ARGUMENTS --data …
  Finished token(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "token");
    arguments.insert(arguments.end(), {"--data", data()});
    return test::run(arguments, is_sqlite()
                                    ? std::vector<std::string>()
                                    : std::vector{"COFFER_TOKEN_DATABASE=" + options_.location});
  }
  std::string text(std::vector<std::string> arguments) const {
    const Finished end = token(arguments);
    EXPECT_EQ(end.exit_code, 0) << arguments.front() << ": " << end.err;
    return end.out;
  }
  bj::value as_json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    const std::string out = text(std::move(arguments));
    boost::system::error_code error;
    bj::value value = bj::parse(out, error);
    EXPECT_FALSE(error) << out;
    return value;
  }
  static std::string str(const bj::value& object, const char* key) {
    return std::string(object.at(key).as_string());
  }
  void make_people() const {
    ASSERT_EQ(token({"user", "create", "alice"}).exit_code, 0);
    ASSERT_EQ(token({"user", "create", "bob"}).exit_code, 0);
    ASSERT_EQ(token({"transfer", kBank, "alice", "100"}).exit_code, 0);
  }
  std::string balance(const std::string& name) const {
    return str(as_json({"wallet", name}), "balance");
  }
  std::string data() const { return (dir_.path() / "data").string(); }
  std::string file(const std::string& name, const std::string& content) const {
    const auto path = dir_.path() / name;
    std::ofstream(path) << content;
    return path.string();
  }

  static constexpr const char* kBank = "system_account_communitytoken";
};

TEST_P(TokenCommands, InitTwiceChangesNothing) {
  const Finished again = token({"init"});
  EXPECT_EQ(again.exit_code, 0);
  EXPECT_EQ(again.out, "community communitytoken was there already; nothing was changed\n");
  EXPECT_EQ(text({"supply", "--json"}),
            R"({"issuance":"10000","circulation":"0","pool":"10000","deleted_users":"0",)"
            R"("ownerless":"0"})"
            "\n");
  EXPECT_EQ(text({"init", "chess_club", "--issuance", "500", "--account", "bank"}),
            "community chess_club is ready: 500 tokens in bank\n");
  EXPECT_EQ(text({"list"}), "chess_club\ncommunitytoken\n");
  EXPECT_EQ(str(as_json({"supply", "--community", "chess_club"}), "pool"), "500");
  expect_refusal(token({"init", "Chess"}), 2, "cannot be the name of a community");
  expect_refusal(token({"init", "--account", "other"}), 1, "has the system account");
}

TEST_P(TokenCommands, TransfersByNameAreIdempotentById) {
  make_people();
  EXPECT_EQ(text({"transfer", "alice", "bob", "5", "--memo", "lunch"}),
            "5 to bob; alice has 95 left\n");
  const std::string id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
  EXPECT_EQ(text({"transfer", "alice", "bob", "10", "--id", id}), "10 to bob; alice has 85 left\n");
  EXPECT_EQ(text({"transfer", "alice", "bob", "10", "--id", id}),
            "10 to bob; alice has 85 left; it was applied before, nothing changed now\n");
  expect_refusal(token({"transfer", "alice", "bob", "11", "--id", id}), 1, id);
  EXPECT_EQ(balance("alice"), "85");
  const bj::value history = as_json({"history", "alice"});
  ASSERT_EQ(history.at("transactions").as_array().size(), 3u);
  EXPECT_EQ(history.at("transactions").at(1).at("memo").as_string(), "lunch");
  EXPECT_EQ(str(as_json({"show", id}), "amount"), "10");
  EXPECT_NE(text({"reverse", id, "--reason", "mistake"}).find("is reversed by"), std::string::npos);
  EXPECT_EQ(balance("alice"), "95");
  expect_refusal(token({"reverse", id, "--reason", "again"}), 1, id);
}

TEST_P(TokenCommands, WrongUsageIsSaidInOneLine) {
  make_people();
  expect_refusal(token({"transfer", "alice", "bob", "0"}), 2, "'0' is no amount");
  expect_refusal(token({"transfer", "alice", "bob", "1.5"}), 2, "'1.5' is no amount");
  expect_refusal(token({"transfer", "alice", "bob", "9223372036854775808"}), 2, "is no amount");
  expect_refusal(token({"transfer", "alice", "carol", "1"}), 1, "no user or system account");
  expect_refusal(token({"transfer", "alice", "alice", "1"}), 2, "pay itself");
  expect_refusal(token({"transfer", "alice", "bob", "101"}), 1, "insufficient balance");
  expect_refusal(token({"transfer", "alice", "bob", "1", "--type", "100"}), 2, "--type");
  expect_refusal(token({"transfer", "alice", "bob", "1", "--metadata", "[1]"}), 2, "metadata");
  expect_refusal(token({"transfer", "alice", "bob", "1", "--id", "7"}), 2, "id");
  expect_refusal(token({"user", "create", "al"}), 2, "username");
  expect_refusal(token({"freeze", "alice"}), 2, "--reason");
  expect_refusal(token({"freeze", kBank, "--reason", "x"}), 1, "cannot be frozen");
  expect_refusal(token({"history", "--from", "yesterday"}), 2, "from: ");
  expect_refusal(token({"roles", "grant", "boss", "--issuer", "https://x", "--subject", "1"}), 2,
                 "boss");
  expect_refusal(token({"keys", "create", "k", "--scopes", "fly", "--for", "1h"}), 2,
                 "unknown scope 'fly'");
  expect_refusal(token({"wallet", "alice", "--community", "nowhere"}), 1,
                 "create it with 'coffer token init nowhere'");
  EXPECT_EQ(balance("alice"), "100");
}

TEST_P(TokenCommands, UsersOfOneNameAreNamedById) {
  make_people();
  const std::string second = str(as_json({"user", "create", "alice"}), "id");
  expect_refusal(token({"transfer", kBank, "alice", "1"}), 1, "several owners are called 'alice'");
  EXPECT_EQ(text({"transfer", kBank, second, "1"}),
            "1 to alice; system_account_communitytoken has 9,899 left\n");
  EXPECT_EQ(as_json({"user", "list", "--name", "alice"}).at("users").as_array().size(), 2u);
  EXPECT_NE(text({"user", "delete", second}).find("is deleted"), std::string::npos);
  EXPECT_EQ(text({"transfer", kBank, "alice", "1"}),
            "1 to alice; system_account_communitytoken has 9,898 left\n");
  EXPECT_EQ(text({"user", "reactivate", second}), "alice is active again\n");
}

TEST_P(TokenCommands, HoldsAreCapturedAndReleased) {
  make_people();
  const std::string hold =
      str(as_json({"hold", "open", "alice", "bob", "20", "--for", "2h"}), "id");
  expect_refusal(token({"transfer", "alice", "bob", "90"}), 1, "held");
  EXPECT_EQ(text({"hold", "capture", hold, "--amount", "15"}), "15 of 20 captured\n");
  EXPECT_EQ(balance("bob"), "15");
  expect_refusal(token({"hold", "release", hold}), 1, "");
  EXPECT_EQ(as_json({"hold", "list", "alice", "--open"}).at("holds").as_array().size(), 0u);
  EXPECT_EQ(str(as_json({"hold", "show", hold}), "state"), "captured");
}

TEST_P(TokenCommands, BatchTellsEachResult) {
  make_people();
  const auto wallet = [&](const char* name) { return str(as_json({"wallet", name}), "id"); };
  const auto item = [&](const char* id, const char* amount) {
    return fmt::format(R"({{"id":"{}","from":"{}","to":"{}","amount":{}}})", id, wallet("alice"),
                       wallet("bob"), amount);
  };
  const std::string path =
      file("batch.json", fmt::format(R"({{"mode":"each","transfers":[{},{}]}})",
                                     item("3f2504e0-4f89-41d3-9a0c-0305e82c3301", "1"),
                                     item("3f2504e0-4f89-41d3-9a0c-0305e82c3302", "1000")));
  const Finished end = token({"batch", path});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_NE(end.out.find("item 2: "), std::string::npos) << end.out;
  EXPECT_NE(end.out.find("1 transfer applied, 1 refused\n"), std::string::npos) << end.out;
  EXPECT_EQ(balance("alice"), "99");
}

TEST_P(TokenCommands, ImportIsADryRunUnlessApplied) {
  const std::string path =
      file("members.csv", "username,balance,issuer,subject\ncarol,50,https://x,1\ndave,20,,\n");
  EXPECT_EQ(text({"import", path}),
            "2 users, 1 identity, 70 tokens distributed in 2 transfers; add --apply to do it\n");
  EXPECT_EQ(as_json({"user", "list"}).at("users").as_array().size(), 0u);
  EXPECT_EQ(text({"import", path, "--apply"}),
            "2 users, 1 identity, 70 tokens distributed in 2 transfers\n");
  EXPECT_EQ(balance("carol"), "50");
  const std::string bad = file("bad.csv", "username,balance\nerin,1\nx,1\n");
  const Finished end = token({"import", bad, "--apply"});
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_NE(end.out.find("line 3: "), std::string::npos) << end.out;
  EXPECT_EQ(as_json({"user", "list"}).at("users").as_array().size(), 2u);
}

TEST_P(TokenCommands, ProofAndExportAreCheckedOffLine) {
  make_people();
  const std::string id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
  EXPECT_EQ(token({"transfer", "alice", "bob", "5", "--memo", "lunch", "--id", id}).exit_code, 0);
  expect_refusal(token({"proof", id}), 1, "");  // not in the log yet
  EXPECT_NE(text({"log"}).find("put into the log"), std::string::npos);
  const std::string proof = text({"proof", id});
  const std::string key = str(bj::parse(proof), "public_key");
  const std::string path = file("lunch.proof", proof);
  const auto check = [&](std::vector<std::string> more) {
    std::vector<std::string> line = {"token", "check-proof"};
    line.insert(line.end(), more.begin(), more.end());
    return test::run(line);
  };
  const Finished good = check({path, "--key", key, "--transaction", id});
  EXPECT_EQ(good.exit_code, 0) << good.err;
  EXPECT_NE(good.out.find("memo           lunch\n"), std::string::npos) << good.out;
  EXPECT_TRUE(good.out.ends_with("the proof holds\n"));
  expect_refusal(check({path, "--key", std::string(64, 'a')}), 1, "");
  std::string forged = proof;
  const std::string amount = R"(\"amount\":\"5\")";
  ASSERT_NE(forged.find(amount), std::string::npos) << proof;
  forged.replace(forged.find(amount), amount.size(), R"(\"amount\":\"6\")");
  expect_refusal(check({file("forged.proof", forged)}), 1, "does not hold");
  const std::string directory = (dir_.path() / "out").string();
  EXPECT_NE(text({"export", directory}).find("3 wallets and 3 transactions"), std::string::npos);
  const Finished whole = test::run({"token", "check-export", directory, "--key", key});
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  expect_refusal(token({"export", directory}), 1, "not an empty directory");
}

// Of two into one directory one is whole, and the other is refused and leaves it alone.
TEST_P(TokenCommands, ConcurrentExportsDoNotMix) {
  ASSERT_NO_FATAL_FAILURE(make_people());
  const auto alone = dir_.path() / "alone";
  ASSERT_EQ(token({"export", alone.string()}).exit_code, 0);
  for (int round = 0; round < 5; ++round) {
    const std::string directory = (dir_.path() / ("out" + std::to_string(round))).string();
    std::vector<Finished> ends(3);
    std::vector<std::thread> exports;
    exports.reserve(ends.size());
    for (Finished& end : ends) exports.emplace_back([&] { end = token({"export", directory}); });
    for (std::thread& one : exports) one.join();
    EXPECT_EQ(std::ranges::count(ends, 0, &Finished::exit_code), 1) << round;
    for (const Finished& end : ends) {
      if (end.exit_code != 0) expect_refusal(end, 1, directory);
    }
    for (const auto& one : std::filesystem::directory_iterator(alone)) {
      if (one.path().extension() != ".csv") continue;  // the log has a new checkpoint each time
      const auto same = std::filesystem::path(directory) / one.path().filename();
      EXPECT_EQ(read_file(same, 1 << 20).value(), read_file(one.path(), 1 << 20).value()) << same;
    }
  }
}

TEST_P(TokenCommands, CommunityDividedByMonths) {
  const Finished made = token({"init", "monthly", "--partition-by-month"});
  if (is_sqlite()) return expect_refusal(made, 2, "SQLite has no partitions");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(token({"init", "monthly", "--partition-by-month"}).exit_code, 0);
  const auto monthly = [&](std::vector<std::string> line) {
    line.insert(line.end(), {"--community", "monthly"});
    return text(std::move(line));
  };
  (void)monthly({"user", "create", "alice"});
  const std::string id = "3f2504e0-4f89-41d3-9a0c-0305e82c3301";
  EXPECT_EQ(monthly({"transfer", kBank, "alice", "7", "--id", id}),
            "7 to alice; system_account_communitytoken has 9,993 left\n");
  EXPECT_NE(monthly({"transfer", kBank, "alice", "7", "--id", id}).find("applied before"),
            std::string::npos);
  EXPECT_NE(monthly({"check"}).find(": consistent"), std::string::npos);
  expect_refusal(token({"init", "--partition-by-month"}), 1, "has transactions already");
}

TEST_P(TokenCommands, KeysShowTheirSecretOnce) {
  const bj::value made =
      as_json({"keys", "create", "shop", "--scopes", "read,hold", "--for", "90d"});
  EXPECT_TRUE(str(made, "secret").starts_with("ctk_"));
  const std::string list = text({"keys", "list", "--json"});
  EXPECT_EQ(list.find(str(made, "secret")), std::string::npos);
  EXPECT_EQ(text({"keys", "revoke", str(made, "id")}), "key shop is revoked\n");
  EXPECT_FALSE(as_json({"keys", "list"}).at("keys").at(0).at("revoked_unix_ms").is_null());
}

TEST_P(TokenCommands, CommunityIsBackedUpAndRestored) {
  make_people();
  const auto db = [&](std::vector<std::string> line) {
    line.insert(line.begin(), "db");
    line.insert(line.end(), {"--data", data()});
    return test::run(line, is_sqlite() ? std::vector<std::string>()
                                       : std::vector{"COFFER_TOKEN_DATABASE=" + options_.location});
  };
  const std::string copy = (dir_.path() / "copy.db").string();
  const Finished backup = db({"backup", copy, "--module", "token"});
  const Finished status = db({"status", "--json"});
  EXPECT_EQ(status.exit_code, 0) << status.err;
  EXPECT_NE(status.out.find(R"("module":"token")"), std::string::npos) << status.out;
  EXPECT_NE(status.out.find(R"("pending":[])"), std::string::npos) << status.out;
  if (!is_sqlite()) {
    expect_refusal(backup, 2, "pg_dump");
    const Finished plan = db({"distribute", "--dry-run", "--module", "token"});
    EXPECT_EQ(plan.exit_code, 0) << plan.err;
    EXPECT_EQ(plan.out,
              "BEGIN; SET LOCAL citus.enable_unsafe_triggers = on; SELECT "
              "citus_schema_distribute('communitytoken'); COMMIT;\n");
    return;
  }
  EXPECT_EQ(backup.exit_code, 0) << backup.err;
  EXPECT_EQ(token({"transfer", "alice", "bob", "60"}).exit_code, 0);
  EXPECT_EQ(balance("alice"), "40");
  const Finished restored = db({"restore", copy, "--replace", "--module", "token"});
  EXPECT_EQ(restored.exit_code, 0) << restored.err;
  EXPECT_EQ(balance("alice"), "100");
  EXPECT_NE(text({"check"}).find(": consistent"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Every, TokenCommands,
                         testing::Values(sql::test::Engine::kSqlite, sql::test::Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer
