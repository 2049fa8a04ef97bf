// How much there is of everything. Counting walks through whole tables: for those who have time.
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/distribution.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

std::vector<std::string_view> all_tables() {
  std::vector<std::string_view> names(std::begin(kReferenceTables), std::end(kReferenceTables));
  for (const sql::TenantTable& tenant : kTenantTables) names.push_back(tenant.table);
  return names;
}

Result<std::uint64_t> count(sql::Reader& sql, std::string_view from) {
  const auto rows = TRY(sql.value<std::uint64_t>(fmt::format("SELECT count(*) FROM {}", from)));
  return rows.value_or(0);
}

// SQLite does not say what a table of its file takes.
Result<std::vector<TableSize>> sizes_in_sqlite(sql::Reader& sql) {
  std::vector<TableSize> sizes;
  for (const std::string_view name : all_tables()) {
    const std::uint64_t rows = TRY(count(sql, name));
    sizes.push_back({std::string(name), rows, std::nullopt});
  }
  return sizes;
}

// The server knows both without counting, the rows about; with indexes and what is stored apart.
Result<std::vector<TableSize>> sizes_in_postgres(sql::Reader& sql) {
  std::vector<TableSize> sizes;
  for (const std::string_view name : all_tables()) {
    const auto found = TRY(sql.one<std::uint64_t, std::uint64_t>(
        "SELECT CAST(CASE WHEN c.reltuples < 0 THEN coalesce(s.n_live_tup, 0) ELSE c.reltuples END"
        "  AS BIGINT), pg_total_relation_size(c.oid) FROM pg_class c"
        " LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid WHERE c.oid = to_regclass($1)",
        {name}));
    if (!found) return fail(Code::kCorrupt, "the table {} is missing", name);
    sizes.push_back({std::string(name), std::get<0>(*found), std::get<1>(*found)});
  }
  return sizes;
}

}  // namespace

Result<StoreStats> Store::stats() const {
  const bool is_postgres = database_.dialect() == sql::Dialect::kPostgres;
  auto connection = TRY(database_.acquire());
  StoreStats stats;
  stats.counted_at_ms = TRY(connection.value<std::int64_t>("SELECT coffer_now()")).value_or(0);
  stats.wallets = TRY(count(connection, "wallets"));
  stats.addresses = TRY(count(connection, "addresses"));
  stats.transactions = TRY(count(connection, "transactions"));
  stats.coins = TRY(count(connection, "utxos"));
  stats.unspent = TRY(count(connection, "utxos WHERE spent_by_tx_id IS NULL"));
  stats.leases = TRY(count(connection, "utxo_leases"));
  stats.active_leases = TRY(count(connection, "utxo_leases WHERE expires_at > coffer_now()"));
  stats.replacements = TRY(count(connection, "tx_replacements"));
  stats.pruned = TRY(count(connection, "pruned_transactions"));
  stats.tables = TRY((is_postgres ? sizes_in_postgres : sizes_in_sqlite)(connection));
  stats.bytes =
      TRY(connection.value<std::uint64_t>(
              is_postgres
                  ? "SELECT pg_database_size(current_database())"
                  : "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"))
          .value_or(0);
  stats.invalidations = counters_->invalidations;
  stats.leases_cleaned = counters_->leases_cleaned;
  stats.lease_cleanups = counters_->lease_cleanups;
  stats.lease_cleanup_seconds = static_cast<double>(counters_->lease_cleanup_us) / 1e6;
  return stats;
}

}  // namespace coffer::wallet
