#include "sql/migrations.h"

#include <future>
#include <thread>

#include "base/result.h"
#include "sql/impl.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

constexpr std::size_t kCore = 2;  // versions of core

// A module of three versions as seen by programs of different age.
class MigrationsTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    for (const auto dialect : {Dialect::kSqlite, Dialect::kPostgres}) {
      known_.push_back({"toy", dialect, 1, "first", "1111", "CREATE TABLE toy(id BIGINT)"});
      if (dialect == Dialect::kSqlite) known_.back().text = "CREATE TABLE toy(id INTEGER) STRICT";
      known_.push_back({"toy", dialect, 2, "second", "2222",
                        "INSERT INTO toy VALUES (1); INSERT INTO toy VALUES (2)"});
      known_.push_back({"toy", dialect, 3, "third", "3333", "INSERT INTO toy VALUES (3)"});
    }
  }
  // The program that knows versions up to this one.
  MigrateOptions of_version(int version) {
    kept_.clear();
    for (const auto& migration : known_)
      if (migration.version <= version) kept_.push_back(migration);
    return {.known = kept_, .identity = std::nullopt};
  }
  static Identity identity() {
    Identity identity{"bitcoin", "regtest", {}, 1};
    identity.genesis.fill(7);
    return identity;
  }

  std::vector<Migration> known_, kept_;
};
COFFER_ON_EVERY_ENGINE(MigrationsTest);

TEST_P(MigrationsTest, FreshDatabase) {
  const auto before = migration_status(db(), of_version(3));
  ASSERT_TRUE(before) << before.error().message;
  EXPECT_EQ(before->pending.size(), kCore + 3);
  EXPECT_EQ(before->pending[kCore], "toy 1 first");
  EXPECT_EQ(before->identity, std::nullopt);
  const auto applied = migrate(db(), of_version(3));
  ASSERT_TRUE(applied) << applied.error().message;
  ASSERT_EQ(applied->size(), kCore + 3);
  EXPECT_EQ(applied->at(0).module, "core");
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 3);
  const auto after = migration_status(db(), of_version(3)).value();
  EXPECT_TRUE(after.pending.empty());
  ASSERT_EQ(after.applied.size(), kCore + 3);
  EXPECT_EQ(after.applied[kCore + 2].name, "third");
  EXPECT_NEAR(static_cast<double>(after.applied[kCore + 2].at_ms),
              static_cast<double>(system_clock().unix_ms()), 60'000);
  EXPECT_TRUE(migrate(db(), of_version(3))->empty());
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 3);
}

TEST_P(MigrationsTest, UpgradeAppliesTheRest) {
  ASSERT_TRUE(migrate(db(), of_version(1)));
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 0);
  const auto applied = migrate(db(), of_version(3)).value();
  ASSERT_EQ(applied.size(), 2u);
  EXPECT_EQ(applied[0].version, 2);
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 3);
}

TEST_P(MigrationsTest, NewerDatabaseIsRefused) {
  ASSERT_TRUE(migrate(db(), of_version(3)));
  for (const auto& refused :
       {migrate(db(), of_version(2)).error(), migration_status(db(), of_version(2)).error()}) {
    EXPECT_EQ(refused.code, Code::kConflict);
    EXPECT_NE(refused.message.find("has version 3 of toy and this program knows 2; use a newer"),
              std::string::npos)
        << refused.message;
    expect_one_line(refused);
  }
}

TEST_P(MigrationsTest, ChangedTextIsRefused) {
  ASSERT_TRUE(migrate(db(), of_version(2)));
  auto options = of_version(3);
  for (auto& migration : kept_)
    if (migration.version == 2) migration.checksum = "9999";
  const auto refused = migrate(db(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_NE(refused.error().message.find("toy 2 (second) was applied with another text"),
            std::string::npos)
      << refused.error().message;
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 2);
}

TEST_P(MigrationsTest, EmptyDatabaseMayChangeItsNetwork) {
  const auto as = [&](const char* network) {
    MigrateOptions options = of_version(1);
    options.identity = Identity{"bitcoin", network, {}, 1};
    options.in_use = "SELECT count(*) FROM toy";
    return options;
  };
  ASSERT_TRUE(migrate(db(), as("mainnet")));
  EXPECT_FALSE(migration_status(db(), as("regtest"))->is_in_use);
  ASSERT_TRUE(migrate(db(), as("regtest")));
  EXPECT_EQ(migration_status(db(), as("regtest"))->identity->network, "regtest");
  ASSERT_TRUE(db().run_transaction([](Transaction& transaction) -> Result<> {
    (void)TRY(transaction.execute("INSERT INTO toy VALUES (1)"));
    return {};
  }));
  EXPECT_TRUE(migration_status(db(), as("regtest"))->is_in_use);
  for (const auto& refused :
       {migrate(db(), as("mainnet")).error(), migration_status(db(), as("mainnet")).error()})
    EXPECT_EQ(refused.code, Code::kConflict);
  EXPECT_TRUE(migrate(db(), as("regtest")));
}

TEST_P(MigrationsTest, FailureLeavesNothing) {
  auto options = of_version(3);
  for (auto& migration : kept_)
    if (migration.version == 3)
      migration.text = "INSERT INTO toy VALUES (3); INSERT INTO gone VALUES (1)";
  const auto refused = migrate(db(), options);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("migration toy 3 (third)"), std::string::npos);
  EXPECT_TRUE(migration_status(db(), of_version(3))->applied.empty());
  EXPECT_EQ(migrate(db(), of_version(3))->size(), kCore + 3);
}

TEST_P(MigrationsTest, DatabaseBelongsToOneNetwork) {
  auto options = of_version(1);
  options.identity = identity();
  ASSERT_TRUE(migrate(db(), options));
  ASSERT_TRUE(migrate(db(), options));
  EXPECT_EQ(migration_status(db(), options)->identity, identity());

  options = of_version(3);
  options.identity = identity();
  options.identity->network = "mainnet";
  const auto refused = migrate(db(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_NE(refused.error().message.find("belongs to bitcoin regtest"), std::string::npos);
  EXPECT_NE(refused.error().message.find("not to bitcoin mainnet"), std::string::npos);
  expect_one_line(refused.error());
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 0);  // nothing was applied
  EXPECT_EQ(execute("UPDATE coffer_identity SET network = 'mainnet'").error().code,
            Code::kConflict);
}

// Commands that only read begin with migrate(), too.
TEST_P(MigrationsTest, AnotherGenesisUnderTheSameNamesIsRefused) {  // E5
  auto options = of_version(1);
  options.identity = identity();
  ASSERT_TRUE(migrate(db(), options));
  options = of_version(3);
  options.identity = identity();
  options.identity->genesis.fill(8);
  const auto refused = migrate(db(), options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kConflict);
  EXPECT_NE(refused.error().message.find("another bitcoin regtest"), std::string::npos)
      << refused.error().message;
  expect_one_line(refused.error());
  EXPECT_FALSE(migration_status(db(), options));
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 0);  // nothing was applied
}

TEST_P(MigrationsTest, NothingToDoDoesNotWaitForAWriter) {
  auto options = of_version(3);
  options.identity = identity();
  ASSERT_TRUE(migrate(db(), options));
  const auto other = open();
  auto connection = other->acquire(Access::kWrite).value();
  auto writing = connection.begin({}).value();
  ASSERT_TRUE(lock_schema(writing));
  ASSERT_TRUE(writing.execute("INSERT INTO toy VALUES (4)"));
  const auto applied = std::async(std::launch::async, [&] { return migrate(db(), options); });
  const bool waits = applied.wait_for(std::chrono::seconds(20)) != std::future_status::ready;
  EXPECT_FALSE(waits);
  ASSERT_TRUE(writing.commit());
}

TEST_P(MigrationsTest, MustBeCurrentRefusesOlderSchema) {
  const auto refused = [&](Schema schema, const std::string& text) {
    const auto error = prepare_schema(db(), of_version(3), schema).error();
    EXPECT_EQ(error.code, Code::kConflict) << error.message;
    EXPECT_EQ(error.message, db().name() + text);
    expect_one_line(error);
  };
  refused(Schema::kMustBeCurrent, " is of schema 0, this coffer needs 3: run 'coffer db migrate'");
  EXPECT_TRUE(migration_status(db(), of_version(3))->applied.empty());
  ASSERT_TRUE(migrate(db(), of_version(1)));
  for (const Schema schema : {Schema::kMustBeCurrent, Schema::kCreateIfMissing})
    refused(schema, " is of schema 1, this coffer needs 3: run 'coffer db migrate'");
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 0);  // nothing was applied
  EXPECT_EQ(prepare_schema(db(), of_version(3), Schema::kMigrate)->size(), 2u);
  EXPECT_TRUE(prepare_schema(db(), of_version(3), Schema::kMustBeCurrent)->empty());
}

TEST_P(MigrationsTest, CreateIfMissingCreatesNewDatabase) {
  EXPECT_EQ(prepare_schema(db(), of_version(3), Schema::kCreateIfMissing)->size(), kCore + 3);
  EXPECT_TRUE(prepare_schema(db(), of_version(3), Schema::kCreateIfMissing)->empty());
}

// core is there, but not the module: another module shares the database.
TEST_P(MigrationsTest, CreateIfMissingAddsModule) {
  ASSERT_TRUE(migrate(db(), {}));
  EXPECT_EQ(prepare_schema(db(), of_version(3), Schema::kCreateIfMissing)->size(), 3u);
}

// One that was cut off between the migrations and the identity, by hand.
TEST_P(MigrationsTest, IdentityIsWrittenLater) {
  ASSERT_TRUE(migrate(db(), of_version(3)));
  auto options = of_version(3);
  options.identity = identity();
  EXPECT_TRUE(migrate(db(), options)->empty());
  EXPECT_EQ(migration_status(db(), options)->identity, identity());
}

TEST_P(MigrationsTest, TwoProcessesAtOnce) {
  const auto options = of_version(3);
  // Forked before this process has connections or threads of its own.
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready) + ::pipe(go), 0);
  constexpr int kProcesses = 4;
  std::vector<pid_t> children;
  for (int i = 0; i < kProcesses; ++i) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      char byte = 0;
      const bool told = ::write(ready[1], &byte, 1) == 1 && ::read(go[0], &byte, 1) == 1;
      const auto database = Database::open(options_);
      const auto applied = database ? migrate(**database, options) : fail(database.error());
      ::_exit(!told || !applied ? 100 : static_cast<int>(applied->size()));
    }
    children.push_back(child);
  }
  char bytes[kProcesses] = {};
  for (int i = 0; i < kProcesses; ++i) ASSERT_EQ(::read(ready[0], bytes, 1), 1);
  ASSERT_EQ(::write(go[1], bytes, kProcesses), kProcesses);
  int applied = 0;
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_NE(WEXITSTATUS(status), 100);
    applied += WEXITSTATUS(status);
  }
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
  EXPECT_EQ(applied, static_cast<int>(kCore) + 3);
  EXPECT_EQ(number("SELECT count(*) FROM toy"), 3);
}

// SQLite changes a table by making a new one, which breaks references for a moment.
TEST(SqliteMigrations, MayRebuildATableThatOthersReferTo) {
  const TempDir dir;
  DatabaseOptions options;
  options.location = "sqlite:" + (dir.path() / "a.db").string();
  const auto database = Database::open(options).value();
  std::vector<Migration> known;
  known.push_back({"toy", Dialect::kSqlite, 1, "a", "1",
                   "CREATE TABLE p(id INTEGER PRIMARY KEY) STRICT;"
                   "CREATE TABLE c(p INTEGER REFERENCES p(id)) STRICT;"
                   "INSERT INTO p VALUES (1); INSERT INTO c VALUES (1)"});
  known.push_back(
      {"toy", Dialect::kSqlite, 2, "b", "2",
       "CREATE TABLE p2(id INTEGER PRIMARY KEY, x TEXT) STRICT;"
       "INSERT INTO p2(id) SELECT id FROM p; DROP TABLE p; ALTER TABLE p2 RENAME TO p"});
  EXPECT_EQ(migrate(*database, {.known = known})->size(), kCore + 2);
  known.push_back({"toy", Dialect::kSqlite, 3, "c", "3", "DELETE FROM p"});
  const auto refused = migrate(*database, {.known = known});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("a row of c refers to nothing"), std::string::npos);
}

TEST(CoreMigrations, HaveTheSameVersionsInBothDialects) {
  std::vector<std::pair<std::string_view, int>> sqlite, postgres;
  for (const auto& migration : core_migrations()) {
    EXPECT_EQ(migration.module, "core");
    EXPECT_EQ(migration.checksum.size(), 64u);
    EXPECT_FALSE(migration.text.empty());
    (migration.dialect == Dialect::kSqlite ? sqlite : postgres)
        .emplace_back(migration.module, migration.version);
  }
  EXPECT_EQ(sqlite, postgres);
  EXPECT_FALSE(sqlite.empty());
}

}  // namespace
}  // namespace coffer::sql::test
