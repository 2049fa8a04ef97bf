#include "token/log/nodes.h"

#include "base/check.h"
#include "base/result.h"
#include "mmr/position.h"
#include "sql/postgres_array.h"

namespace coffer::token {
namespace {

constexpr const char* kLeavesPostgres =
    "SELECT position, leaf_hash FROM @log_leaves WHERE position = ANY($1::bigint[])";
constexpr const char* kNodesPostgres =
    "SELECT position, hash FROM @log_nodes WHERE position = ANY($1::bigint[])";
constexpr const char* kLeafSqlite =
    "SELECT position, leaf_hash FROM log_leaves WHERE position = $1";
constexpr const char* kNodeSqlite = "SELECT position, hash FROM log_nodes WHERE position = $1";

using Found = std::unordered_map<std::uint64_t, Hash256>;

Result<> read_into(Result<sql::Rows> answer, Found& found) {
  sql::Rows rows = TRY(std::move(answer));
  while (TRY(rows.next()))
    found.emplace(TRY(rows.get<std::uint64_t>(0)), TRY(rows.get<Hash256>(1)));
  return {};
}

// By position of the table; leaves are counted by themselves there.
Result<Found> find_hashes(sql::Reader& sql, const Community& community,
                          std::span<const std::uint64_t> positions, const char* postgres,
                          const char* sqlite) {
  Found found;
  if (positions.empty()) return found;
  if (!community.is_sqlite()) {
    sql::PostgresArray list(sql::PostgresArray::Element::kInt8);
    for (const std::uint64_t position : positions) list.add(static_cast<std::int64_t>(position));
    TRY(read_into(sql.query(community.sql(postgres), {list.view()}), found));
    return found;
  }
  for (const std::uint64_t position : positions)
    TRY(read_into(sql.query(sqlite, {position}), found));
  return found;
}

}  // namespace

Result<> LogNodes::load(sql::Reader& sql, const Community& community,
                        std::span<const std::uint64_t> positions) {
  std::vector<std::uint64_t> leaves, inner;
  for (const std::uint64_t position : positions) {
    const mmr::Place place = mmr::place_of(position);
    if (place.height == 0)
      leaves.push_back(place.index);
    else
      inner.push_back(position);
  }
  for (const auto& [leaf, hash] :
       TRY(find_hashes(sql, community, leaves, kLeavesPostgres, kLeafSqlite)))
    nodes_.emplace(mmr::leaf_position(leaf), hash);
  nodes_.merge(TRY(find_hashes(sql, community, inner, kNodesPostgres, kNodeSqlite)));
  for (const std::uint64_t position : positions) TRY(get(position));
  return {};
}

Result<mmr::Node> LogNodes::get(std::uint64_t position) {
  const auto found = nodes_.find(position);
  if (found == nodes_.end())
    return fail(Code::kCorrupt, "the log lacks node {}; restore it from a backup", position);
  return mmr::Node{found->second};
}

void LogNodes::put(std::uint64_t position, const mmr::Node& node) {
  nodes_.insert_or_assign(position, node.hash);
  if (mmr::height_of(position) > 0) new_nodes_.push_back({position, node.hash});
}

void LogNodes::drop(std::uint64_t) {
  CHECK(false);
}

}  // namespace coffer::token
