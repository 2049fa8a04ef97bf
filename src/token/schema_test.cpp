#include "token/schema.h"

#include "sql/test_engines.h"

namespace coffer::token {
namespace {

class TokenSchema : public sql::test::EngineTest {
 protected:
  std::int64_t tables_in(const std::string& schema) {
    return number("SELECT count(*) FROM pg_tables WHERE schemaname = $1", {schema});
  }
};
COFFER_ON_EVERY_ENGINE(TokenSchema);

TEST_P(TokenSchema, CommunityIsMadeOnce) {
  ASSERT_TRUE(prepare_community(db(), "village", sql::Schema::kMigrate));
  const auto again = prepare_community(db(), "village", sql::Schema::kMustBeCurrent);
  EXPECT_TRUE(again) << again.error().message;
}

TEST_P(TokenSchema, MissingCommunityIsNotMadeByWhoMayNot) {
  const auto missing = prepare_community(db(), "village", sql::Schema::kMustBeCurrent);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, Code::kConflict);
  if (!is_sqlite()) {
    EXPECT_EQ(tables_in("village"), 0);
  }
}

// T11: each has its tables, its functions and its record of migrations; public stays empty.
TEST_P(TokenSchema, CommunitiesStandSideBySide) {
  if (is_sqlite()) GTEST_SKIP() << "a community is a file there";
  ASSERT_TRUE(prepare_community(db(), "village", sql::Schema::kMigrate));
  ASSERT_TRUE(prepare_community(db(), "town", sql::Schema::kMigrate));
  EXPECT_GT(tables_in("village"), 10);
  EXPECT_EQ(tables_in("village"), tables_in("town"));
  EXPECT_EQ(tables_in("public"), 0);
  script(
      "INSERT INTO village.wallets (id, created_at, updated_at) "
      "VALUES ('00000000-0000-4000-8000-000000000001', 1, 1)");
  EXPECT_EQ(number("SELECT count(*) FROM village.wallets"), 1);
  EXPECT_EQ(number("SELECT count(*) FROM town.wallets"), 0);
}

TEST_P(TokenSchema, NamesThatCannotBeOnesAreRefused) {
  for (const std::string_view name :
       {"", "ab", "Village", "9lives", "pg_town", "public", "a-b-c", "x;drop", "information_schema",
        "a2345678901234567890123456789012345678901x"}) {
    const auto refused = prepare_community(db(), name, sql::Schema::kMigrate);
    ASSERT_FALSE(refused) << name;
    EXPECT_EQ(refused.error().code, Code::kUsage) << name;
    sql::test::expect_one_line(refused.error());
  }
}

}  // namespace
}  // namespace coffer::token
