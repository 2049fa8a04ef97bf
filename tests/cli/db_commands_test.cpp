// coffer db, as an operator types it, on SQLite and on PostgreSQL; what is wrong in one line.
#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <fstream>

#include "base/temp_dir.h"
#include "node/sql_store.h"
#include "sql/test_postgres.h"
#include "support/process.h"
#include "wallet/distribution.h"

namespace coffer {
namespace {

namespace fs = std::filesystem;
namespace bj = boost::json;
using test::expect_refusal;
using test::Finished;
using test::Process;
using test::run;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class DbCommands : public testing::Test {
 protected:
  std::string data(const char* name = "data") const { return (dir_.path() / name).string(); }
  // coffer db ARGUMENTS, without logs.
  Finished db(std::vector<std::string> arguments, const char* name = "data") const {
    arguments.insert(arguments.begin(), "db");
    arguments.insert(arguments.end(), {"--data", data(name), "--log-level", "off"});
    return run(arguments, environment_);
  }
  std::string text(std::vector<std::string> arguments, const char* name = "data") const {
    const Finished end = db(std::move(arguments), name);
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  bj::value as_json(std::vector<std::string> arguments, const char* name = "data") const {
    arguments.emplace_back("--json");
    return bj::parse(text(std::move(arguments), name));
  }
  bj::value status(const char* name = "data") const {
    return as_json({"status"}, name).at("databases").at(0);
  }
  // The same database, opened by this process.
  std::unique_ptr<sql::Database> open(const char* name = "data") const {
    sql::DatabaseOptions options;
    options.location = location_.empty() ? "sqlite:" + data(name) + "/wallet.db" : location_;
    auto opened = sql::Database::open(options);
    EXPECT_TRUE(opened) << opened.error().message;
    return std::move(opened).value();
  }
  void change(const std::string& sql, const char* name = "data") const {
    const auto done =
        open(name)->run_transaction([&](sql::Transaction& t) { return t.script(sql); });
    ASSERT_TRUE(done) << done.error().message;
  }
  std::int64_t number(const std::string& sql, const char* name = "data") const {
    const auto database = open(name);
    auto connection = database->acquire().value();
    const auto value = connection.value<std::int64_t>(sql);
    EXPECT_TRUE(value) << value.error().message;
    return value && *value ? **value : -1;
  }

  TempDir dir_;
  std::vector<std::string> environment_;
  std::string location_;  // of a server
};

class DbOnPostgres : public DbCommands {
 protected:
  void SetUp() override {
    COFFER_REQUIRE_POSTGRES_OR_SKIP();
    const auto server = sql::test::PostgresServer::shared();
    location_ = server->location(server->fresh_database());
    environment_ = {"COFFER_WALLET_DATABASE=" + location_ + " password=hunter2"};
  }
};

TEST_F(DbCommands, HelpListsEveryCommandWithExamples) {
  const Finished help = run({"db", "--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* name : {"status", "migrate", "backup", "restore", "distribute"}) {
    EXPECT_TRUE(contains(help.out, std::string("\n  ") + name)) << name;
    EXPECT_EQ(run({"db", name, "--help"}).exit_code, 0) << name;
  }
  EXPECT_TRUE(contains(help.out, "Examples:"));
  expect_refusal(run({"db"}), 2, "coffer db --help");
  expect_refusal(run({"db", "fly"}), 2, "coffer db --help");
  expect_refusal(db({"backup"}), 2, "coffer db backup --help");
  expect_refusal(db({"restore"}), 2, "coffer db restore --help");
}

TEST_F(DbCommands, StatusCreatesNothing) {
  const bj::value before = status();
  EXPECT_EQ(before.at("module").as_string(), "wallet");
  EXPECT_EQ(before.at("engine").as_string(), "sqlite");
  EXPECT_EQ(before.at("database").as_string(), "sqlite:" + data() + "/wallet.db");
  EXPECT_FALSE(before.at("exists").as_bool());
  EXPECT_TRUE(before.at("identity").is_null());
  EXPECT_TRUE(before.at("size_bytes").is_null());
  EXPECT_TRUE(before.at("problem").is_null());
  EXPECT_TRUE(contains(text({"status"}), "does not exist yet"));
  expect_refusal(db({"backup", data("copy")}), 1, "wallet.db");
  EXPECT_FALSE(fs::exists(data()));
}

TEST_F(DbCommands, MigrateThenStatus) {
  const bj::value first = as_json({"migrate"});
  EXPECT_EQ(first.at("database").as_string(), "sqlite:" + data() + "/wallet.db");
  ASSERT_GE(first.at("applied").as_array().size(), 1u);
  EXPECT_EQ(first.at("applied").at(0).at("module").as_string(), "core");
  EXPECT_EQ(first.at("applied").at(0).at("version").to_number<int>(), 1);
  EXPECT_TRUE(as_json({"migrate"}).at("applied").as_array().empty());
  EXPECT_EQ(text({"migrate"}), "sqlite:" + data() + "/wallet.db is up to date\n");

  const bj::value now = status();
  EXPECT_TRUE(now.at("exists").as_bool());
  EXPECT_EQ(now.at("applied"), first.at("applied"));
  EXPECT_TRUE(now.at("pending").as_array().empty());
  EXPECT_EQ(now.at("identity").at("chain").as_string(), "bitcoin");
  EXPECT_EQ(now.at("identity").at("network").as_string(), "devnet");
  EXPECT_GT(now.at("size_bytes").to_number<std::int64_t>(), 4'000);
  EXPECT_TRUE(now.at("connections").is_null());
  const std::string table = text({"status"});
  for (const char* part : {"bitcoin devnet, genesis 0f9188f13cb7b2c7", "core 1 identity", "engine",
                           "pending   nothing"})
    EXPECT_TRUE(contains(table, part)) << part << "\n" << table;

  EXPECT_TRUE(contains(text({"migrate"}, "new"), "applied core 1 identity\n"));
}

TEST_F(DbCommands, PendingMigrationsAreShown) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  change("DELETE FROM coffer_migrations");
  const bj::value now = status();
  EXPECT_EQ(now.at("pending").at(0).as_string(), "core 1 identity");
  EXPECT_TRUE(contains(text({"status"}), "pending   core 1 identity"));
}

TEST_F(DbCommands, NewerOrForeignDatabaseIsRefused) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  for (const std::string network : {"mainnet", "regtest"})
    expect_refusal(db({"migrate", "--network", network}), 1,
                   "holds wallets of bitcoin devnet, but the settings or");
  change("INSERT INTO coffer_migrations VALUES ('core', 99, 'future', '', 0)");
  expect_refusal(db({"migrate"}), 1, "use a newer coffer");
  const Finished shown = db({"status"});
  EXPECT_EQ(shown.exit_code, 1);
  EXPECT_TRUE(contains(shown.out, "problem")) << shown.out;
  EXPECT_TRUE(contains(shown.err, "use a newer coffer")) << shown.err;
  const Finished as_data = db({"status", "--json"});
  EXPECT_EQ(as_data.exit_code, 1);
  const bj::value problem = bj::parse(as_data.out).at("databases").at(0).at("problem");
  EXPECT_TRUE(contains(std::string(problem.as_string()), "use a newer coffer"));
  std::ofstream(data() + "/wallet.db") << std::string(5'000, 'x');
  EXPECT_TRUE(contains(db({"status"}).err, "wallet.db"));
}

TEST_F(DbCommands, DataDirectoryDecidesTheNetwork) {
  ASSERT_EQ(run({"sync", "--to", "5", "--data", data()}).exit_code, 0);
  expect_refusal(db({"migrate", "--network", "mainnet"}), 1,
                 "belongs to bitcoin devnet, not to bitcoin mainnet");
  EXPECT_EQ(db({"migrate"}).exit_code, 0);
  ASSERT_EQ(run({"sync", "--to", "5", "--chain", "cardano", "--data", data("ada")}).exit_code, 0);
  expect_refusal(db({"migrate"}, "ada"), 1, "bitcoin only");
  EXPECT_TRUE(contains(text({"status"}, "ada"), "bitcoin only"));
  EXPECT_FALSE(fs::exists(data("ada") + "/wallet.db"));
}

TEST_F(DbCommands, DatabaseDecidesTheNetworkWithoutDataDirectory) {
  ASSERT_EQ(run({"wallet", "create", "shop", "--network", "regtest", "--data", data()}).exit_code,
            0);
  EXPECT_EQ(status().at("identity").at("network").as_string(), "regtest");
  EXPECT_EQ(db({"migrate"}).exit_code, 0);
  expect_refusal(db({"migrate", "--network", "devnet"}), 1, "holds wallets of bitcoin regtest");
  const Finished other = db({"status", "--network", "signet"});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_TRUE(contains(other.err, "holds wallets of bitcoin regtest")) << other.err;
}

TEST_F(DbCommands, NoDatabaseWithoutWallet) {
  environment_ = {"COFFER_WALLET_ENABLED=false"};
  EXPECT_TRUE(as_json({"status"}).at("databases").as_array().empty());
  EXPECT_TRUE(contains(text({"status"}), "wallet.enabled"));
  expect_refusal(db({"migrate"}), 1, "wallet.enabled");
  expect_refusal(db({"backup", data("copy")}), 1, "wallet.enabled");
  expect_refusal(db({"restore", data("copy")}), 1, "wallet.enabled");
  expect_refusal(db({"distribute"}), 1, "wallet.enabled");
}

TEST_F(DbCommands, BackupAndRestore) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  change("CREATE TABLE mine(id INTEGER); INSERT INTO mine VALUES (1)");
  const std::string copy = data("copy.db");
  const bj::value made = as_json({"backup", copy});
  EXPECT_EQ(made.at("file").as_string(), copy);
  EXPECT_EQ(made.at("size_bytes").to_number<std::uint64_t>(), fs::file_size(copy));
  expect_refusal(db({"backup", copy}), 1, "exists already");
  EXPECT_TRUE(contains(text({"backup", data("second.db")}), "checked"));
  expect_refusal(db({"backup", data("none") + "/x.db"}), 1, "none");

  change("INSERT INTO mine VALUES (2)");
  expect_refusal(db({"restore", copy}), 1, "--replace");
  EXPECT_EQ(number("SELECT count(*) FROM mine"), 2);
  const std::string said = text({"restore", copy, "--replace"});
  EXPECT_TRUE(contains(said, "kept as " + data() + "/wallet.db.replaced-1\n")) << said;
  EXPECT_TRUE(contains(said, "mempool")) << said;
  EXPECT_EQ(number("SELECT count(*) FROM mine"), 1);
  EXPECT_TRUE(fs::exists(data() + "/wallet.db.replaced-1"));

  // Into a new place, with the next step said; and back from what was kept.
  const bj::value fresh = as_json({"restore", copy}, "new");
  EXPECT_TRUE(fresh.at("kept").is_null());
  EXPECT_TRUE(fresh.at("pending").as_array().empty());
  EXPECT_EQ(number("SELECT count(*) FROM mine", "new"), 1);
  EXPECT_EQ(db({"restore", data() + "/wallet.db.replaced-1", "--replace"}, "new").exit_code, 0);
  EXPECT_EQ(number("SELECT count(*) FROM mine", "new"), 2);
}

TEST_F(DbCommands, RestoreRefusesOtherNetworks) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  ASSERT_EQ(db({"migrate", "--network", "regtest"}, "other").exit_code, 0);
  ASSERT_EQ(db({"backup", data("regtest.db"), "--network", "regtest"}, "other").exit_code, 0);
  expect_refusal(db({"restore", data("regtest.db"), "--replace"}), 1, "belongs to bitcoin regtest");
  expect_refusal(db({"restore", data("regtest.db"), "--replace"}, "other"), 1, "regtest");
  EXPECT_TRUE(contains(text({"restore", data("regtest.db")}, "new"), "of bitcoin regtest"));
  for (const std::string other : {"signet", "devnet"})
    expect_refusal(db({"restore", data("regtest.db"), "--network", other}, "x"), 1, "regtest");
  expect_refusal(db({"restore", data("none.db"), "--replace"}), 1, "there is no");
  std::ofstream(data("text")) << "some text";
  expect_refusal(db({"restore", data("text"), "--replace"}), 1, "no SQLite database");
  expect_refusal(db({"restore", data() + "/wallet.db", "--replace"}), 2, "the database itself");
  EXPECT_TRUE(status().at("problem").is_null());
  EXPECT_FALSE(fs::exists(data() + "/wallet.db.replaced-1"));
  EXPECT_FALSE(fs::exists(data() + "/wallet.db.restoring"));
}

TEST_F(DbCommands, RestoreIsRefusedWhileInUse) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  ASSERT_EQ(db({"backup", data("copy.db")}).exit_code, 0);
  {
    const auto database = open();
    expect_refusal(db({"restore", data("copy.db"), "--replace"}), 3,
                   "in use by process " + std::to_string(::getpid()));
  }
  Process server({test::coffer(), "demo", "--json", "--data", data(), "--listen", "127.0.0.1:0"});
  ASSERT_TRUE(server.wait_for_output("\"url\"")) << server.err();
  // The demo has a community beside the wallets, so it must be said which database is meant.
  const std::vector<std::string> restore = {"restore", data("copy.db"), "--replace", "--module",
                                            "wallet"};
  expect_refusal(db({"restore", data("copy.db"), "--replace"}), 2, "choose one with --module");
  expect_refusal(db(restore), 3, "in use by process " + std::to_string(server.pid()));
  EXPECT_EQ(db({"backup", data("beside.db"), "--module", "wallet"}).exit_code, 0);
  EXPECT_TRUE(status().at("exists").as_bool());
  server.kill(SIGTERM);
  EXPECT_EQ(server.wait(20'000)->exit_code, 0) << server.err();
  EXPECT_EQ(db(restore).exit_code, 0);
}

TEST_F(DbCommands, OnlyPostgresIsDistributed) {
  expect_refusal(db({"distribute"}), 2, "only a PostgreSQL database");
  expect_refusal(db({"distribute", "--dry-run"}), 2, "only a PostgreSQL database");
  EXPECT_FALSE(fs::exists(data()));
}

TEST_F(DbCommands, MissingServer) {
  environment_ = {"COFFER_WALLET_DATABASE=host=" + data() + " user=me password=hunter2 dbname=x"};
  expect_refusal(db({"migrate"}), 3, "postgres://me@");
  const Finished shown = db({"status"});
  EXPECT_EQ(shown.exit_code, 3);
  EXPECT_TRUE(contains(shown.out, "problem")) << shown.out;
  EXPECT_FALSE(contains(shown.out + shown.err, "hunter2"));
  environment_ = {"COFFER_WALLET_DATABASE=hunter2"};
  expect_refusal(db({"status"}), 2, "its value is not shown");
}

TEST_F(DbOnPostgres, MigrateThenStatus) {
  EXPECT_TRUE(status().at("exists").as_bool());
  EXPECT_EQ(status().at("pending").at(0).as_string(), "core 1 identity");
  EXPECT_EQ(number("SELECT count(*) FROM pg_class WHERE relname LIKE 'coffer%'"), 0);
  const bj::value first = as_json({"migrate"});
  EXPECT_EQ(first.at("applied").at(0).at("name").as_string(), "identity");
  EXPECT_TRUE(as_json({"migrate"}).at("applied").as_array().empty());
  EXPECT_TRUE(contains(text({"migrate"}), "is up to date"));
  const auto held = open();
  const auto connection = held->acquire();
  const bj::value now = status();
  EXPECT_EQ(now.at("engine").as_string(), "postgres");
  EXPECT_EQ(now.at("applied"), first.at("applied"));
  EXPECT_EQ(now.at("identity").at("network").as_string(), "devnet");
  EXPECT_GT(now.at("size_bytes").to_number<std::int64_t>(), 1'000'000);
  EXPECT_GE(now.at("connections").to_number<int>(), 1);
  const std::string shown = text({"status"});
  EXPECT_TRUE(contains(shown, "connections besides this one")) << shown;
  EXPECT_FALSE(contains(shown, "hunter2")) << shown;
  expect_refusal(db({"migrate", "--network", "mainnet"}), 1,
                 "holds wallets of bitcoin devnet, but the settings or");
  EXPECT_FALSE(fs::exists(data()));
}

TEST_F(DbOnPostgres, MissingDatabase) {
  environment_ = {"COFFER_WALLET_DATABASE=" +
                  sql::test::PostgresServer::shared()->location("nowhere")};
  EXPECT_FALSE(status().at("exists").as_bool());
  EXPECT_TRUE(contains(text({"status"}), "createdb"));
  expect_refusal(db({"migrate"}), 1, "nowhere");
}

TEST_F(DbOnPostgres, BackupAndRestoreNameTheTools) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  const std::string file = data("copy.dump");
  const Finished backup = db({"backup", file});
  expect_refusal(backup, 2, "pg_dump --format=custom --file=" + file + " --host=");
  expect_refusal(db({"restore", file}), 2, "pg_restore --clean");
  EXPECT_FALSE(contains(backup.err, "hunter2"));
  // The commands do work.
  const auto typed = [&](const Finished& refusal, const char* tool) {
    const auto at = refusal.err.find(tool);
    const std::string command = sql::test::kPostgresPrograms.string() + "/" +
                                refusal.err.substr(at, refusal.err.find('\n') - at);
    return Process({"/bin/sh", "-c", command}).wait(60'000)->exit_code;
  };
  change("CREATE TABLE mine(id BIGINT)");
  EXPECT_EQ(typed(backup, "pg_dump"), 0);
  change("INSERT INTO mine VALUES (1)");
  EXPECT_EQ(typed(db({"restore", file}), "pg_restore"), 0);
  EXPECT_EQ(number("SELECT count(*) FROM mine"), 0);
}

TEST_F(DbOnPostgres, Distribute) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  expect_refusal(db({"distribute"}), 3, "CREATE EXTENSION citus");
  const std::string plan = text({"distribute", "--dry-run"});
  const auto tables = std::size(wallet::kReferenceTables) + std::size(wallet::kTenantTables);
  EXPECT_EQ(static_cast<std::size_t>(std::count(plan.begin(), plan.end(), '\n')), tables);
  EXPECT_TRUE(contains(plan,
                       "BEGIN; SET LOCAL citus.enable_unsafe_triggers = on; SELECT "
                       "create_reference_table('wallets'); COMMIT;\n"))
      << plan;
  EXPECT_TRUE(contains(plan,
                       "create_distributed_table('accounts', 'wallet_id', colocate_with => "
                       "'none'); COMMIT;\n"))
      << plan;
  EXPECT_TRUE(contains(plan, "('utxos', 'wallet_id', colocate_with => 'accounts')")) << plan;
  const bj::value as_data = as_json({"distribute", "--dry-run"});
  EXPECT_TRUE(as_data.at("dry_run").as_bool());
  EXPECT_EQ(as_data.at("tables").as_array().size(), tables);
  EXPECT_FALSE(as_data.at("tables").at(0).at("done_before").as_bool());
}

// The list must be of tables that the migrations make, and all of them.
TEST_F(DbOnPostgres, DistributedTablesMatchMigrations) {
  ASSERT_EQ(db({"migrate"}).exit_code, 0);
  std::vector<std::string> listed;
  for (const auto table : wallet::kReferenceTables) listed.emplace_back(table);
  for (const auto& tenant : wallet::kTenantTables) listed.emplace_back(tenant.table);
  std::sort(listed.begin(), listed.end());
  EXPECT_EQ(std::adjacent_find(listed.begin(), listed.end()), listed.end());
  const auto database = open();
  auto connection = database->acquire().value();
  auto rows = connection
                  .query(
                      "SELECT CAST(relname AS TEXT) FROM pg_class WHERE relkind IN ('r', 'p') "
                      "AND relnamespace = 'public'::regnamespace AND relname NOT LIKE 'coffer%' "
                      "ORDER BY 1")
                  .value();
  std::vector<std::string> made;
  while (rows.next().value()) made.push_back(rows.get<std::string>(0).value());
  EXPECT_EQ(made, listed);

  // Each after those that it refers to.
  std::vector<std::string> order(std::begin(wallet::kReferenceTables),
                                 std::end(wallet::kReferenceTables));
  for (const auto& tenant : wallet::kTenantTables) order.emplace_back(tenant.table);
  auto keys = connection
                  .query(
                      "SELECT CAST(CAST(conrelid AS regclass) AS TEXT), "
                      "CAST(CAST(confrelid AS regclass) AS TEXT) FROM pg_constraint "
                      "WHERE contype = 'f'")
                  .value();
  int seen = 0;
  for (; keys.next().value(); ++seen) {
    const std::string from = keys.get<std::string>(0).value(),
                      to = keys.get<std::string>(1).value();
    EXPECT_LE(std::find(order.begin(), order.end(), to),
              std::find(order.begin(), order.end(), from))
        << from << " refers to " << to;
  }
  EXPECT_GT(seen, 0);
}

}  // namespace
}  // namespace coffer
