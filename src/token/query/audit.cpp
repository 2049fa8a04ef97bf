// What was done, by whom and why, newest first.
#include "token/account/accounts.h"
#include "token/query/by_index.h"
#include "token/query/page.h"

namespace coffer::token {
namespace {

constexpr std::int64_t kAfterAll = std::numeric_limits<std::int64_t>::max();

Result<std::vector<AuditEntry>> read_audit(sql::Transaction& sql, const Community& community,
                                           const Place& from, std::int64_t oldest_ms,
                                           std::size_t limit) {
  sql::Rows rows =
      TRY(query_by_index(sql, community,
                         community.sql("SELECT id, at, actor, action, target, reason, detail"
                                       " FROM @audit WHERE at >= $3 AND (at, id) <= ($1, $2::uuid)"
                                       " ORDER BY at DESC, id DESC LIMIT $4"),
                         {from.number, community.id(from.id), oldest_ms, limit}));
  std::vector<AuditEntry> entries;
  while (TRY(rows.next())) {
    AuditEntry entry;
    entry.id = TRY(community.read_id(rows, 0));
    entry.at_ms = TRY(rows.get<std::int64_t>(1));
    entry.actor = TRY(rows.get<std::string>(2));
    entry.action = TRY(rows.get<std::string>(3));
    entry.target = TRY(rows.get<std::optional<std::string>>(4));
    entry.reason = TRY(rows.get<std::optional<std::string>>(5));
    entry.detail = TRY(rows.get<std::optional<std::string>>(6));
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace

Result<Page<AuditEntry>> Store::audit(const AuditQuery& query) const {
  TRY(check_page(query.page));
  const Community& community = impl_->community;
  CursorSeal seal("audit");
  seal.add(query.from_ms).add(query.to_ms);
  const std::int64_t oldest_ms = std::max<std::int64_t>(query.from_ms.value_or(0), 0);
  Place newest{.number = std::max<std::int64_t>(query.to_ms.value_or(kAfterAll), 0) - 1};
  newest.id.fill(0xff);
  const Place start = TRY(seal.open(query.page.cursor)).value_or(newest);
  return read_as_of_now(community, [&](sql::Transaction& sql) {
    return walk_page<AuditEntry>(
        query.page.count, start, seal,
        [&](const Place& from, std::size_t limit) {
          return read_audit(sql, community, from, oldest_ms, limit);
        },
        [](const AuditEntry& entry) { return Place{.number = entry.at_ms, .id = entry.id}; });
  });
}

}  // namespace coffer::token
