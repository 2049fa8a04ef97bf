// W8: the time is the database's. The clock of the program that asks may be decades away from it.
#include <filesystem>
#include <fstream>
#include <regex>

#include "base/result.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

constexpr std::int64_t kIn2001 = 1'000'000'000'000, kIn2096 = 4'000'000'000'000;

class Clocks : public testing::TestWithParam<sql::test::Engine> {
 protected:
  void SetUp() override {
    if (is_sqlite()) {
      options_.location = "sqlite:" + (dir_.path() / "wallet.db").string();
      options_.clock = &clock_;
    } else {
      COFFER_REQUIRE_POSTGRES_OR_SKIP();
      name_ = sql::test::PostgresServer::shared()->fresh_database();
      options_.location = sql::test::PostgresServer::shared()->location(name_);
    }
    let_the_database_believe(kIn2001);
  }
  bool is_sqlite() const { return GetParam() == sql::test::Engine::kSqlite; }
  Store& store() { return engine_->store(); }

  // PostgreSQL itself carries the setting, whoever connects; SQLite has no clock but its function.
  void let_the_database_believe(std::int64_t ms) {
    clock_.skew_ms(ms - clock_.unix_ms());
    engine_.reset();
    if (!is_sqlite())
      sql::test::PostgresServer::shared()->run_psql(
          fmt::format("ALTER DATABASE {} SET coffer.now_ms = '{}'", name_, ms));
    engine_ = std::make_unique<WalletEngine>("clock", options_, StoreOptions{});
  }

  TempDir dir_;
  ManualClock clock_{kIn2001};
  std::string name_;
  sql::DatabaseOptions options_;
  std::unique_ptr<WalletEngine> engine_;
};
COFFER_ON_BOTH_ENGINES(Clocks);

TEST_P(Clocks, LeasesUseDatabaseClock) {  // W8
  const std::int64_t ours = system_clock().unix_ms();
  ASSERT_GT(ours, kIn2001 + 1'000'000);
  ASSERT_LT(ours, kIn2096 - 1'000'000);
  const WalletId wallet = store().create({"alice"}).value().id;
  ASSERT_TRUE(store().import_script(wallet, script(1), {}));
  const MadeTx money = make_tx({foreign(1)}, {{script(1), 100}});
  ASSERT_TRUE(store().record(wallet, money.raw, {}));
  const std::vector coins = {coin(money)};
  const auto held_by = [&](std::uint8_t who) {
    const auto found = store().coin(wallet, coin(money));
    return found && found->lease && found->lease->lock_id == lock_id(who);
  };

  EXPECT_EQ(store().lease(wallet, {coins, lock_id(1), 1'000}).value(), kIn2001 + 1'000);
  // By our clock it ended long ago.
  EXPECT_TRUE(held_by(1));
  EXPECT_EQ(store().leases(wallet, {})->items.size(), 1u);
  EXPECT_EQ(store().balance(wallet)->leased, 100u);
  EXPECT_EQ(store().clean_leases().value(), 0u);
  EXPECT_EQ(store().lease(wallet, {coins, lock_id(2), 1'000}).error().code, Code::kConflict);
  EXPECT_EQ(store().renew(wallet, {coins, lock_id(1), 2'000}).value(), kIn2001 + 2'000);

  let_the_database_believe(kIn2001 + 1'999);
  EXPECT_TRUE(held_by(1));
  let_the_database_believe(kIn2001 + 2'000);
  EXPECT_FALSE(held_by(1));
  EXPECT_EQ(store().renew(wallet, {coins, lock_id(1), 1'000}).error().code, Code::kConflict);

  let_the_database_believe(kIn2096);
  EXPECT_EQ(store().lease(wallet, {coins, lock_id(2), 1'000}).value(), kIn2096 + 1'000);
  // By our clock it lasts for decades.
  let_the_database_believe(kIn2096 + 1'000);
  EXPECT_FALSE(held_by(2));
  EXPECT_EQ(store().balance(wallet)->spendable + store().balance(wallet)->unconfirmed, 100u);
  EXPECT_EQ(store().clean_leases().value(), 1u);
}

TEST_P(Clocks, StoredTimesUseDatabaseClock) {  // W8
  const auto made = store().create({"alice"});
  ASSERT_TRUE(made);
  EXPECT_EQ(made->created_at_ms, kIn2001);
  ASSERT_TRUE(store().import_script(made->id, script(1), {}));
  const MadeTx money = make_tx({foreign(1)}, {{script(1), 100}});
  ASSERT_TRUE(store().record(made->id, money.raw, {}));
  EXPECT_EQ(store().transaction(made->id, money.id)->entry.received_ms, kIn2001);
  let_the_database_believe(kIn2096);
  const MadeTx later = make_tx({foreign(1)}, {{script(1), 90}});
  ASSERT_TRUE(store().record(made->id, later.raw, {}));
  EXPECT_EQ(store().transaction(made->id, later.id)->entry.received_ms, kIn2096);
  // Ages are counted from there as well: what was replaced now is not old.
  PruneOptions prune;
  prune.invalid_older_than_ms = 1'000;
  EXPECT_EQ(store().prune(made->id, prune)->invalid, 0u);
  let_the_database_believe(kIn2096 + 1'001);
  EXPECT_EQ(store().prune(made->id, prune)->invalid, 1u);
}

// Of two processes with one file of SQLite.
TEST(WalletClock, LeaseOfProcessThatIsBehindIsNotTaken) {  // W8
  constexpr std::int64_t kHourMs = 3'600'000;
  const TempDir dir;
  ManualClock right(kIn2096), behind(kIn2096 - kHourMs);
  const auto one = WalletEngine::sqlite(dir.path(), &right);
  const auto other = WalletEngine::sqlite(dir.path(), &behind);
  const WalletId wallet = one->store().create({"alice"}).value().id;
  ASSERT_TRUE(one->store().import_script(wallet, script(1), {}));
  const MadeTx money = make_tx({foreign(1)}, {{script(1), 100}});
  ASSERT_TRUE(one->store().record(wallet, money.raw, {}));
  const std::vector coins = {coin(money)};

  EXPECT_EQ(other->store().lease(wallet, {coins, lock_id(1), 60'000}).value(), kIn2096 + 60'000);
  EXPECT_EQ(one->store().lease(wallet, {coins, lock_id(2), 60'000}).error().code, Code::kConflict);
  EXPECT_EQ(one->store().clean_leases().value(), 0u);
  // It ends for both at the same time.
  right.advance_ms(60'000);
  behind.advance_ms(60'000);
  EXPECT_EQ(other->store().renew(wallet, {coins, lock_id(1), 1'000}).error().code, Code::kConflict);
  EXPECT_TRUE(one->store().lease(wallet, {coins, lock_id(2), 60'000}));
}

// What is written in a program between quotes, or all of a file of SQL.
std::string sql_of(const std::filesystem::path& path, const std::string& line) {
  if (path.extension() == ".sql") return line;
  static const std::regex quoted(R"("((\\.|[^"\\])*)\")");
  std::string all;
  for (std::sregex_iterator it(line.begin(), line.end(), quoted), end; it != end; ++it)
    all += (*it)[1].str() + " ";
  return all;
}

TEST(WalletClock, SqlUsesOnlyCofferNow) {  // W8
  namespace fs = std::filesystem;
  const std::regex clock(R"(\b(current_(time|date|timestamp)|local(time|timestamp)|timeofday)\b)"
                         R"(|\b((clock|statement|transaction)_timestamp|now)\s*\()"
                         R"(|\b(strftime|julianday|unixepoch|datetime)\s*\()"
                         R"(|'now')",
                         std::regex::icase);
  for (const std::string_view bad : {"x < now()", "SELECT CURRENT_TIMESTAMP", "date('now')"})
    EXPECT_TRUE(std::regex_search(std::string(bad), clock)) << bad;
  EXPECT_FALSE(std::regex_search(std::string("expires_at <= coffer_now()"), clock));
  std::size_t files = 0;
  std::vector<std::string> found;
  for (const auto& file : fs::recursive_directory_iterator("src")) {
    const fs::path& path = file.path();
    if (path.extension() != ".sql" && path.extension() != ".cpp" && path.extension() != ".h")
      continue;
    // A person's sqlite3 has no coffer_now(), and the outbox is put in order by microseconds (T10).
    if (path.string().starts_with("src/token/migrations/")) continue;
    ++files;
    std::ifstream in(path);
    std::size_t number = 0;
    for (std::string line; std::getline(in, line);) {
      ++number;
      if (std::regex_search(sql_of(path, line), clock))
        found.push_back(fmt::format("{}:{}", path.string(), number));
    }
  }
  EXPECT_GT(files, 100u);
  // The one that coffer_now() itself stands on.
  ASSERT_EQ(found.size(), 1u) << fmt::format("{}", fmt::join(found, "\n"));
  EXPECT_TRUE(found[0].starts_with("src/sql/migrations/core/postgres/0001_identity.sql:"));
}

}  // namespace
}  // namespace coffer::wallet::test
