// For tests: a token community that the real program keeps, on either engine: its commands, the
// servers that serve it, and what must be right in the end.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>

#include "base/temp_dir.h"
#include "support/daemon.h"
#include "token/log/audit_file.h"

namespace coffer::test {

// A transaction of the history.
struct Moved {
  token::Uuid id{};
  std::int64_t amount = 0;
};

class TokenVillage {
 public:
  // Made by `coffer token init`, with members of 1,000 tokens each. `database`: of PostgreSQL; ""
  // keeps the community in a file.
  TokenVillage(std::string database, int members, std::int64_t tokens = 1'000)
      : database_(std::move(database)) {
    cli({"token", "init", "--issuance", "1000000000"});
    for (int i = 0; i < members; ++i) {
      const std::string name = fmt::format("member_{}", i);
      wallets_.emplace_back(boost::json::parse(cli({"token", "user", "create", name, "--json"}))
                                .at("wallet")
                                .as_string());
      cli({"token", "transfer", "system_account_communitytoken", name, std::to_string(tokens)});
    }
  }

  const std::vector<std::string>& wallets() const { return wallets_; }
  // The directory of one of several servers. The first one is also that of the commands.
  std::filesystem::path data(int server = 0) const {
    return dir_.path() / fmt::format("data-{}", server);
  }

  Finished try_cli(std::vector<std::string> arguments) const {
    for (std::string& one : settings(0)) arguments.push_back(std::move(one));
    return run(std::move(arguments));
  }
  // Expects success; what it printed.
  std::string cli(std::vector<std::string> arguments) const {
    const Finished end = try_cli(std::move(arguments));
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }

  // Servers other than the first get a copy of the log's key, as an operator gives them one.
  std::unique_ptr<Daemon> serve(int server = 0) const {
    namespace fs = std::filesystem;
    const fs::path key = "token-village.key";
    if (!fs::exists(data(server) / key)) {
      fs::create_directories(data(server));
      fs::copy_file(data() / key, data(server) / key);
    }
    std::vector<std::string> arguments = {"--token-enabled",
                                          "true",
                                          "--token-rate-limit-per-second",
                                          "100000",
                                          "--token-rate-limit-burst",
                                          "100000",
                                          "--devnet-block-interval-ms",
                                          "60000",
                                          "--log-level",
                                          "error"};
    if (!database_.empty()) arguments.insert(arguments.end(), {"--token-database", database_});
    return std::make_unique<Daemon>(data(server).string(), arguments);
  }
  // The token of the host's administrator at that server.
  std::string secret(int server = 0) const {
    std::string secret;
    std::ifstream(data(server) / "token") >> secret;
    return secret;
  }

  // All of it, the newest first.
  std::vector<Moved> history() const {
    std::vector<Moved> all;
    std::string cursor;
    do {
      std::vector<std::string> command = {"token", "history", "--count", "1000", "--json"};
      if (!cursor.empty()) command.insert(command.end(), {"--cursor", cursor});
      const boost::json::value page = boost::json::parse(cli(command));
      for (const boost::json::value& one : page.at("transactions").as_array())
        all.push_back({token::parse_uuid(std::string(one.at("id").as_string())).value(),
                       std::stoll(std::string(one.at("amount").as_string()))});
      cursor = page.at("next_cursor").is_null() ? "" : page.at("next_cursor").as_string().c_str();
    } while (!cursor.empty());
    return all;
  }
  // Balances are as the history gives them, and the log has so many transactions and verifies.
  // Nothing may serve the community.
  void expect_sound(std::size_t transactions) const {
    cli({"token", "check"});
    cli({"token", "log"});
    const std::string out = (dir_.path() / "export").string();
    cli({"token", "export", out});
    token::Auditor auditor;
    std::ifstream lines(std::filesystem::path(out) / "log.jsonl");
    ASSERT_TRUE(lines.is_open());
    for (std::string line; std::getline(lines, line);) {
      const auto added = auditor.add_line(line);
      ASSERT_TRUE(added) << added.error().message;
    }
    const auto report = auditor.finish();
    ASSERT_TRUE(report) << report.error().message;
    for (const std::string& problem : report->problems) ADD_FAILURE() << problem;
    EXPECT_EQ(report->unlogged, 0u);
    EXPECT_EQ(report->transactions, transactions);
  }

 private:
  std::vector<std::string> settings(int server) const {
    std::vector<std::string> list = {"--data", data(server).string(), "--community", "village"};
    if (!database_.empty()) list.insert(list.end(), {"--token-database", database_});
    return list;
  }

  const TempDir dir_;
  const std::string database_;
  std::vector<std::string> wallets_;
};

}  // namespace coffer::test
