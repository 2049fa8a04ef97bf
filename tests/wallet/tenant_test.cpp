// The tables of a migrated PostgreSQL database as Citus needs them (W10): all of a wallet can stand
// on one node, because its number is in every key. The catalog is asked, not the migrations.
#include <set>

#include "base/result.h"
#include "sql/connection.h"
#include "wallet/distribution.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {
namespace {

class Tenants : public WalletTest {
 protected:
  // The first column of every row.
  std::set<std::string> list(std::string_view text) {
    std::set<std::string> found;
    auto connection = engine_->database().acquire();
    ok(connection);
    auto rows = connection->query(text);
    ok(rows);
    while (rows && rows->next().value_or(false)) found.insert(rows->get<std::string>(0).value());
    return found;
  }
  // SQL: whether a table is spread by wallet.
  static std::string is_tenant(std::string_view relation) {
    std::string names;
    for (const sql::TenantTable& table : kTenantTables)
      names += fmt::format("{}'{}'", names.empty() ? "" : ", ", table.table);
    return fmt::format("CAST({} AS regclass)::text IN ({})", relation, names);
  }
  // SQL: whether wallet_id is among the columns of a key.
  static std::string has_wallet(std::string_view relation, std::string_view columns) {
    return fmt::format(
        "EXISTS (SELECT 1 FROM pg_attribute a WHERE a.attrelid = {} AND a.attname = 'wallet_id'"
        " AND a.attnum = ANY ({}))",
        relation, columns);
  }
};

TEST_P(Tenants, EveryTableIsDistributedOrReference) {
  std::set<std::string> expected = {"coffer_migrations", "coffer_identity"};
  for (const std::string_view table : kReferenceTables) expected.emplace(table);
  for (const sql::TenantTable& table : kTenantTables) expected.emplace(table.table);
  EXPECT_EQ(list("SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'"), expected);
}

TEST_P(Tenants, WalletIdInEveryUniqueKey) {  // W10
  const std::string with_primary =
      fmt::format("SELECT i.indrelid::regclass::text FROM pg_index i WHERE i.indisprimary AND {}",
                  is_tenant("i.indrelid"));
  EXPECT_EQ(list(with_primary).size(), std::size(kTenantTables));
  // Also those that constraints stand on, and partial ones. No expression is among the columns:
  // Citus would not know it.
  EXPECT_EQ(list(fmt::format("SELECT i.indexrelid::regclass::text FROM pg_index i"
                             " WHERE (i.indisunique OR i.indisprimary OR i.indisexclusion) AND {}"
                             " AND (i.indexprs IS NOT NULL OR NOT {})",
                             is_tenant("i.indrelid"), has_wallet("i.indrelid", "i.indkey"))),
            std::set<std::string>());
}

TEST_P(Tenants, WalletIdInEveryForeignKey) {  // W10
  const std::string between = fmt::format(" c.contype = 'f' AND {} AND {}", is_tenant("c.conrelid"),
                                          is_tenant("c.confrelid"));
  EXPECT_GT(list("SELECT c.conname::text FROM pg_constraint c WHERE" + between).size(), 8u);
  EXPECT_EQ(
      list("SELECT c.conrelid::regclass || '.' || c.conname FROM pg_constraint c WHERE" + between +
           " AND NOT EXISTS (SELECT 1 FROM unnest(c.conkey, c.confkey) AS k (own, other)"
           " JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.own"
           " JOIN pg_attribute b ON b.attrelid = c.confrelid AND b.attnum = k.other"
           " WHERE a.attname = 'wallet_id' AND b.attname = 'wallet_id')"),
      std::set<std::string>());
  // A small table stands on every node, so it must not refer to what stands on one.
  EXPECT_EQ(list(fmt::format("SELECT c.conname::text FROM pg_constraint c WHERE c.contype = 'f'"
                             " AND NOT {} AND {}",
                             is_tenant("c.conrelid"), is_tenant("c.confrelid"))),
            std::set<std::string>());
}

TEST_P(Tenants, NoForeignKeySetsWalletIdNull) {  // W10
  // Citus refuses SET NULL and SET DEFAULT on a key that holds the distribution column, also if
  // only other columns are named to be emptied.
  EXPECT_EQ(list(fmt::format("SELECT c.conrelid::regclass || '.' || c.conname FROM pg_constraint c"
                             " WHERE c.contype = 'f' AND {} AND {} AND (c.confdeltype IN ('n', 'd')"
                             " OR c.confupdtype IN ('n', 'd'))",
                             is_tenant("c.conrelid"), has_wallet("c.conrelid", "c.conkey"))),
            std::set<std::string>());
  // The wallet of a row is always known.
  EXPECT_EQ(list(fmt::format("SELECT a.attrelid::regclass::text FROM pg_attribute a"
                             " WHERE a.attname = 'wallet_id' AND NOT a.attnotnull AND {}",
                             is_tenant("a.attrelid"))),
            std::set<std::string>());
}

INSTANTIATE_TEST_SUITE_P(On, Tenants, testing::Values(sql::test::Engine::kPostgres),
                         sql::test::engine_name);

}  // namespace
}  // namespace coffer::wallet::test
