#include "token/partitions.h"

#include "base/result.h"
#include "token/store_impl.h"

namespace coffer::token {
namespace {

// "@schema@" stands for the community, as in a migration.
std::string text_for(std::string_view community) {
  constexpr std::string_view kPlace = "@schema@";
  std::string text(partitioned_text());
  for (auto at = text.find(kPlace); at != std::string::npos;
       at = text.find(kPlace, at + community.size()))
    text.replace(at, kPlace.size(), community);
  return text;
}

Result<bool> is_partitioned(sql::Reader& sql, const Community& community) {
  const auto found = TRY(sql.value<bool>("SELECT to_regclass($1::text) IS NOT NULL",
                                         {community.name() + ".transaction_ids"}));
  return found.value_or(false);
}

}  // namespace

Result<> partition_by_month(const Community& community) {
  if (community.is_sqlite())
    return fail(Code::kUsage,
                "'{}' is a file of SQLite, which has no partitions; set token.database to a "
                "PostgreSQL database",
                community.name());
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        if (TRY(is_partitioned(sql, community))) return {};
        const auto any =
            TRY(sql.value<bool>(community.sql("SELECT EXISTS (SELECT FROM @transactions)")));
        if (any.value_or(false))
          return fail(Code::kConflict,
                      "'{}' has transactions already; only a new community can be divided by "
                      "months",
                      community.name());
        TRY(sql.script(fmt::format("SET LOCAL search_path = {}, pg_temp", community.name())));
        return sql.script(text_for(community.name()));
      },
      kWrite);
}

Result<> ensure_partitions(const Community& community) {
  if (community.is_sqlite()) return {};
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        if (!TRY(is_partitioned(sql, community))) return {};
        TRY(sql.query(community.sql("SELECT @ensure_transaction_partitions()")));
        return {};
      },
      kWrite);
}

}  // namespace coffer::token
