// What docs/token_operations.md tells an operator to do with a community on PostgreSQL, done:
// backup and restore, recovery to a point in time.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "sql/test_postgres.h"
#include "token/schema.h"

namespace coffer::token {
namespace {

namespace fs = std::filesystem;
using sql::test::kPostgresPrograms;
using sql::test::PostgresServer;
using sql::test::ServerProcess;
using sql::test::ServerUser;

constexpr const char* kPool = "00000000-0000-4000-8000-000000000001";
constexpr const char* kMember = "00000000-0000-4000-8000-000000000002";

// A pool with 10,000 tokens, and a member.
std::string founding() {
  return fmt::format(
      "SET search_path = village, pg_temp;"
      "INSERT INTO wallets (id, created_at, updated_at) VALUES ('{0}', 1, 1), ('{1}', 1, 1);"
      "INSERT INTO system_accounts VALUES ('{0}', '{0}', 'pool', 1, 1);"
      "INSERT INTO users VALUES ('{1}', '{1}', 'alice', 1, 1);"
      "INSERT INTO transactions VALUES (gen_random_uuid(), '{0}', '{0}', 10000, 1, 1)",
      kPool, kMember);
}
std::string transfer(int amount) {
  return fmt::format(
      "INSERT INTO village.transactions VALUES (gen_random_uuid(), '{}', '{}', {}, 1, 1)", kPool,
      kMember, amount);
}

class TokenOperations : public testing::Test {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    ServerUser().give(dir_.path());
  }

  static std::unique_ptr<sql::Database> open(const std::string& location) {
    sql::DatabaseOptions options;
    options.location = location;
    auto opened = sql::Database::open(std::move(options));
    if (!opened) ADD_FAILURE() << opened.error().message;
    return std::move(opened).value();
  }
  static void run(sql::Database& database, const std::string& script) {
    const auto done = database.run_transaction(
        [&](sql::Transaction& sql) -> Result<> { return sql.script(script); });
    ASSERT_TRUE(done) << done.error().message;
  }
  static std::string text(sql::Database& database, const std::string& query) {
    auto connection = database.acquire();
    if (!connection) return connection.error().message;
    const auto value = connection->value<std::string>(query);
    return value ? value->value_or("nothing") : value.error().message;
  }
  // Balances, entries, what is to be logged: all that a restore must bring back.
  static std::string summary(sql::Database& database) {
    return text(database,
                "SELECT (SELECT string_agg(id || '=' || balance, ' ' ORDER BY id)"
                "          FROM village.wallets)"
                " || ' entries ' || (SELECT count(*) FROM village.wallet_entries)"
                " || ' outbox ' || (SELECT count(*) FROM village.log_outbox)"
                " || ' issued ' || (SELECT total FROM village.issuance)"
                " || ' consistent ' || village.check_balance_consistency()");
  }
  // A program of PostgreSQL, as who runs the server. Its output and its exit code.
  std::pair<int, std::string> program(const std::string& name,
                                      std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), (kPostgresPrograms / name).string());
    const fs::path log = dir_.path() / (name + ".log");
    fs::remove(log);
    ServerProcess process(std::move(arguments), log, SIGKILL);
    const int code = process.wait();
    return {code, sql::test::read_text(log)};
  }
  // A community with some history; where it is.
  std::string make_village() {
    auto* const server = PostgresServer::shared();
    std::string location = server->location(server->fresh_database());
    const auto database = open(location);
    const auto made = prepare_community(*database, "village", sql::Schema::kMigrate);
    EXPECT_TRUE(made) << made.error().message;
    run(*database, founding());
    run(*database, transfer(250));
    return location;
  }

  TempDir dir_;
};

TEST_F(TokenOperations, DumpOfSchemaRestoresCommunity) {
  const std::string from = make_village();
  const std::string before = summary(*open(from));
  const std::string file = (dir_.path() / "village.dump").string();
  const auto dumped = program(
      "pg_dump", {"--format=custom", "--schema=village", "--file=" + file, "--dbname=" + from});
  ASSERT_EQ(dumped.first, 0) << dumped.second;

  auto* const server = PostgresServer::shared();
  const std::string to = server->location(server->fresh_database());
  const auto restored = program("pg_restore", {"--single-transaction", "--dbname=" + to, file});
  ASSERT_EQ(restored.first, 0) << restored.second;
  const auto database = open(to);
  EXPECT_EQ(summary(*database), before);
  EXPECT_NE(before.find(fmt::format("{}=9750 {}=250", kPool, kMember)), std::string::npos)
      << before;
  // Its rules came with it.
  const auto current = prepare_community(*database, "village", sql::Schema::kMustBeCurrent);
  EXPECT_TRUE(current) << current.error().message;
  run(*database, transfer(50));
  EXPECT_EQ(text(*database,
                 fmt::format("SELECT balance::text FROM village.wallets WHERE id='{}'", kMember)),
            "300");
  const auto refused = database->run_transaction(
      [&](sql::Transaction& sql) { return sql.execute("UPDATE village.wallets SET balance = 1"); });
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().reason, "TK021");
}

// The movers would judge and move every row once more; they refuse before anything is stored.
TEST_F(TokenOperations, RestoreOfDataAloneIsRefused) {
  const std::string from = make_village();
  const std::string file = (dir_.path() / "village.dump").string();
  ASSERT_EQ(program("pg_dump",
                    {"--format=custom", "--schema=village", "--file=" + file, "--dbname=" + from})
                .first,
            0);
  auto* const server = PostgresServer::shared();
  const std::string to = server->location(server->fresh_database());
  const auto database = open(to);
  ASSERT_TRUE(prepare_community(*database, "village", sql::Schema::kMigrate));
  const auto restored =
      program("pg_restore", {"--data-only", "--single-transaction", "--dbname=" + to, file});
  EXPECT_NE(restored.first, 0);
  EXPECT_EQ(text(*database, "SELECT count(*)::text FROM village.wallets"), "0");
  EXPECT_EQ(text(*database, "SELECT count(*)::text FROM village.transactions"), "0");
}

TEST_F(TokenOperations, RecoveryToPointInTimeLeavesOutWhatCameLater) {
  const fs::path archive = dir_.path() / "archive", base = dir_.path() / "base";
  const fs::path data = dir_.path() / "data";
  const ServerUser user;
  fs::create_directory(archive);
  user.give(archive);
  const auto start = [&](const fs::path& cluster, std::vector<std::string> more) {
    std::vector<std::string> arguments = {(kPostgresPrograms / "postgres").string(),
                                          "-D",
                                          cluster.string(),
                                          "-c",
                                          "listen_addresses=",
                                          "-c",
                                          "unix_socket_directories=" + dir_.path().string()};
    for (std::string& setting : more) {
      arguments.emplace_back("-c");
      arguments.push_back(std::move(setting));
    }
    return std::make_unique<ServerProcess>(arguments, dir_.path() / "server.log", SIGQUIT);
  };
  const std::string location = "host=" + dir_.path().string() + " user=coffer dbname=postgres";
  const auto made = program("initdb", {"-D", data.string(), "-U", "coffer", "-A", "trust", "-E",
                                       "UTF8", "--locale=C.UTF-8", "--wal-segsize=1"});
  ASSERT_EQ(made.first, 0) << made.second;

  auto server = start(data, {"archive_mode=on", "wal_level=replica",
                             "archive_command=cp %p " + archive.string() + "/%f"});
  sql::test::wait_until_open(location, dir_.path() / "server.log");
  {
    const auto database = open(location);
    ASSERT_TRUE(prepare_community(*database, "village", sql::Schema::kMigrate));
    run(*database, founding());
    const auto copied = program("pg_basebackup", {"--pgdata=" + base.string(), "--checkpoint=fast",
                                                  "--dbname=" + location});
    ASSERT_EQ(copied.first, 0) << copied.second;
    run(*database, transfer(250));
    run(*database, "SELECT pg_create_restore_point('before_the_mistake')");
    run(*database, transfer(9'000));
    run(*database, "SELECT pg_switch_wal()");
  }
  server->stop(SIGINT);

  std::ofstream(base / "recovery.signal").close();
  user.give(base / "recovery.signal");
  server =
      start(base, {"restore_command=cp " + archive.string() + "/%f %p",
                   "recovery_target_name=before_the_mistake", "recovery_target_action=promote"});
  sql::test::wait_until_open(location, dir_.path() / "server.log");
  const auto database = open(location);
  // It answers reads while it still recovers.
  for (int i = 0; i < 500 && text(*database, "SELECT pg_is_in_recovery()::text") != "false"; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const std::string after = summary(*database);
  EXPECT_NE(after.find(fmt::format("{}=9750 {}=250", kPool, kMember)), std::string::npos) << after;
  EXPECT_NE(after.find("consistent true"), std::string::npos) << after;
  run(*database, transfer(1));
  server->stop(SIGINT);
}

}  // namespace
}  // namespace coffer::token
