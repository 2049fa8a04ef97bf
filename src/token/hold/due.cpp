#include "token/hold/due.h"

#include <algorithm>
#include <unordered_set>

#include "sql/postgres_array.h"

namespace coffer::token {
namespace {

constexpr std::string_view kExpiryActor = "host";

Result<std::vector<DueHold>> read_due(Result<sql::Rows> answer, const Community& community) {
  sql::Rows rows = TRY(std::move(answer));
  std::vector<DueHold> holds;
  while (TRY(rows.next()))
    holds.push_back({TRY(community.read_id(rows, 0)), TRY(community.read_id(rows, 1)),
                     TRY(community.read_id(rows, 2))});
  return holds;
}

// Without those of which a wallet is locked elsewhere; the wallets of the others are locked now.
Result<std::vector<DueHold>> lock_wallets_of(sql::Transaction& sql, const Community& community,
                                             std::span<const DueHold> holds) {
  std::vector<DueHold> lockable(holds.begin(), holds.end());
  if (community.is_sqlite()) return lockable;
  sql::PostgresArray wallets(sql::PostgresArray::Element::kUuid);
  for (const DueHold& hold : holds) {
    wallets.add(hold.wallet);
    wallets.add(hold.to);
  }
  std::unordered_set<Uuid, HashOfHash> locked;
  sql::Rows rows = TRY(
      sql.query(community.sql("SELECT id FROM @lock_wallets($1::uuid[], true)"), {wallets.view()}));
  while (TRY(rows.next())) locked.insert(TRY(community.read_id(rows, 0)));
  std::erase_if(lockable, [&](const DueHold& hold) {
    return !locked.contains(hold.wallet) || !locked.contains(hold.to);
  });
  return lockable;
}

}  // namespace

Result<std::size_t> expire_holds_of(sql::Transaction& sql, const Community& community,
                                    std::span<const Uuid> wallets, std::int64_t now_ms) {
  std::vector<DueHold> due;
  if (community.is_sqlite()) {
    for (const Uuid& wallet : wallets) {
      auto rows = sql.query(community.sql("SELECT id, wallet_id, to_wallet_id FROM holds"
                                          " WHERE wallet_id = $1 AND state = 'open'"
                                          " AND expires_at <= $2 LIMIT 1000"),
                            {community.id(wallet), now_ms});
      const auto more = TRY(read_due(std::move(rows), community));
      due.insert(due.end(), more.begin(), more.end());
    }
  } else {
    sql::PostgresArray ids(sql::PostgresArray::Element::kUuid);
    for (const Uuid& wallet : wallets) ids.add(wallet);
    auto rows = sql.query(community.sql("SELECT h.id, h.wallet_id, h.to_wallet_id"
                                        " FROM unnest($1::uuid[]) AS k (id) JOIN @holds h"
                                        " ON h.wallet_id = k.id AND h.state = 'open'"
                                        " WHERE h.expires_at <= $2 LIMIT 1000"),
                          {ids.view(), now_ms});
    due = TRY(read_due(std::move(rows), community));
  }
  return expire_due(sql, community, due, now_ms);
}

Result<std::vector<DueHold>> find_due_holds(sql::Reader& sql, const Community& community,
                                            std::int64_t now_ms, std::size_t limit) {
  auto rows = sql.query(community.sql("SELECT id, wallet_id, to_wallet_id FROM @holds"
                                      " WHERE state = 'open' AND expires_at <= $1"
                                      " ORDER BY expires_at LIMIT $2"),
                        {now_ms, static_cast<std::int64_t>(limit)});
  return read_due(std::move(rows), community);
}

Result<std::size_t> expire_due(sql::Transaction& sql, const Community& community,
                               std::span<const DueHold> holds, std::int64_t now_ms) {
  if (holds.empty()) return 0;
  const auto lockable = TRY(lock_wallets_of(sql, community, holds));
  if (lockable.empty()) return 0;
  TRY(begin_acting(sql, community, {std::string(kExpiryActor)}));
  std::int64_t ended = 0;
  if (community.is_sqlite()) {
    for (const DueHold& hold : lockable)
      ended += TRY(sql.execute(
          community.sql("UPDATE holds SET state = 'expired', ended_at = max(created_at, $2)"
                        " WHERE id = $1 AND state = 'open'"),
          {community.id(hold.id), now_ms}));
  } else {
    sql::PostgresArray ids(sql::PostgresArray::Element::kUuid);
    for (const DueHold& hold : lockable) ids.add(hold.id);
    ended = TRY(sql.execute(
        community.sql("UPDATE @holds h SET state = 'expired',"
                      " ended_at = greatest(h.created_at, $2::bigint) FROM (SELECT o.id"
                      "   FROM @holds o JOIN unnest($1::uuid[]) AS k (id) ON o.id = k.id"
                      "   WHERE o.state = 'open' FOR UPDATE OF o SKIP LOCKED) d WHERE h.id = d.id"),
        {ids.view(), now_ms}));
  }
  TRY(end_acting(sql, community));
  return static_cast<std::size_t>(ended);
}

}  // namespace coffer::token
