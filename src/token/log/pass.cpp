#include "token/log/pass.h"

#include <algorithm>

#include "base/result.h"
#include "mmr/mountain_range.h"
#include "sql/postgres_array.h"
#include "token/log/facts.h"
#include "token/log/nodes.h"

namespace coffer::token {
namespace {

using sql::PostgresArray;

struct Head {
  std::uint64_t size = 0;
  std::int64_t now_ms = 0;
};

// Nothing if another session has it.
Result<std::optional<Head>> lock_head(sql::Transaction& sql, const Community& community) {
  const char* text = community.is_sqlite() ? "SELECT size, @now FROM @log_head"
                                           : "SELECT size, @now FROM @log_head FOR UPDATE "
                                             "SKIP LOCKED";
  const auto row = TRY(sql.one<std::uint64_t, std::int64_t>(community.sql(text)));
  if (!row) return std::nullopt;
  return Head{std::get<0>(*row), std::get<1>(*row)};
}

// Any rows that are visible, in their order. On PostgreSQL they are locked before their details are
// read: a session that is adding details has a lock too, and its row is left to a later pass.
Result<std::vector<LogEntry>> take_outbox(sql::Transaction& sql, const Community& community,
                                          std::size_t count) {
  struct Row {
    std::int64_t place = 0;
    LogEntry entry;
  };
  std::vector<Row> rows;
  const char* text = community.is_sqlite()
                         ? "SELECT place, id, kind, at, body FROM @log_outbox"
                           " ORDER BY place LIMIT $1"
                         : "SELECT place, id, kind, at, body FROM @log_outbox LIMIT $1"
                           " FOR UPDATE SKIP LOCKED";
  auto found = TRY(sql.query(community.sql(text), {count}));
  while (TRY(found.next())) {
    const auto place = TRY(found.get<std::int64_t>(0));
    rows.push_back({place, TRY(read_entry_row(found, community, 1))});
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) {
    return std::tie(a.place, a.entry.id) < std::tie(b.place, b.entry.id);
  });
  std::vector<LogEntry> entries;
  entries.reserve(rows.size());
  for (Row& row : rows) entries.push_back(std::move(row.entry));
  return entries;
}

// What a pass adds to the log.
struct Growth {
  std::uint64_t from = 0;
  std::vector<LogEntry> entries;
  std::vector<Hash256> leaves;
  std::vector<LogNodes::NewNode> nodes;
  Hash256 root{};

  std::uint64_t size() const { return from + entries.size(); }
};

Result<Growth> grow(sql::Transaction& sql, const Community& community, std::uint64_t from,
                    std::vector<LogEntry> entries) {
  Growth growth{from, std::move(entries), {}, {}, {}};
  std::vector<LogEntry*> pointers;
  pointers.reserve(growth.entries.size());
  for (LogEntry& entry : growth.entries) pointers.push_back(&entry);
  TRY(add_transactions(sql, community, pointers));
  LogNodes nodes;
  TRY(nodes.load(sql, community, mmr::Peaks(from).view()));
  mmr::MountainRange range(nodes, mmr::kLogTags, from);
  for (const LogEntry& entry : growth.entries) {
    const std::uint64_t position = range.leaves();
    const std::string text = to_text(entry);
    const mmr::Digest data = hash_bytes(as_bytes(text).data(), text.size());
    TRY(range.append(data));
    growth.leaves.push_back(TRY(nodes.get(mmr::leaf_position(position))).hash);
  }
  growth.nodes = nodes.take_new_nodes();
  growth.root = TRY(range.root());
  return growth;
}

Result<> store_postgres(sql::Transaction& sql, const Community& community, const Growth& growth,
                        std::int64_t now_ms) {
  using Element = PostgresArray::Element;
  PostgresArray positions(Element::kInt8), ids(Element::kUuid), kinds(Element::kInt8),
      hashes(Element::kBytea), times(Element::kInt8), bodies(Element::kText),
      node_positions(Element::kInt8), node_hashes(Element::kBytea);
  for (std::size_t i = 0; i < growth.entries.size(); ++i) {
    const LogEntry& entry = growth.entries[i];
    positions.add(static_cast<std::int64_t>(growth.from + i));
    ids.add(entry.id);
    kinds.add(entry.kind);
    hashes.add(growth.leaves[i]);
    times.add(entry.at_ms);
    bodies.add(entry.is_transaction() ? sql::Param(nullptr) : sql::Param(entry.event));
  }
  for (const auto& node : growth.nodes) {
    node_positions.add(static_cast<std::int64_t>(node.position));
    node_hashes.add(node.hash);
  }
  TRY(sql.run_all(
      {{community.sql("INSERT INTO @log_leaves (position, id, kind, leaf_hash, at, body)"
                      " SELECT * FROM unnest($1::bigint[], $2::uuid[], $3::bigint[], $4::bytea[],"
                      " $5::bigint[], $6::text[])"),
        {positions.view(), ids.view(), kinds.view(), hashes.view(), times.view(), bodies.view()}},
       {community.sql("INSERT INTO @log_nodes (position, hash)"
                      " SELECT * FROM unnest($1::bigint[], $2::bytea[])"),
        {node_positions.view(), node_hashes.view()}},
       {community.sql("DELETE FROM @log_outbox WHERE id = ANY($1::uuid[])"), {ids.view()}},
       {community.sql("UPDATE @log_head SET size = $1, root = $2, updated_at = $3"),
        {growth.size(), growth.root, now_ms}}}));
  return {};
}

Result<> store_sqlite(sql::Transaction& sql, const Community& community, const Growth& growth,
                      std::int64_t now_ms) {
  auto leaves =
      TRY(sql.batch("INSERT INTO log_leaves (position, id, kind, leaf_hash, at, body)"
                    " VALUES ($1, $2, $3, $4, $5, $6)"));
  for (std::size_t i = 0; i < growth.entries.size(); ++i) {
    const LogEntry& entry = growth.entries[i];
    TRY(leaves.add({growth.from + i, community.id(entry.id), entry.kind, growth.leaves[i],
                    entry.at_ms,
                    entry.is_transaction() ? sql::Param(nullptr) : sql::Param(entry.event)}));
  }
  (void)TRY(leaves.finish());
  auto nodes = TRY(sql.batch("INSERT INTO log_nodes (position, hash) VALUES ($1, $2)"));
  for (const auto& node : growth.nodes) TRY(nodes.add({node.position, node.hash}));
  (void)TRY(nodes.finish());
  auto taken = TRY(sql.batch("DELETE FROM log_outbox WHERE id = $1"));
  for (const LogEntry& entry : growth.entries) TRY(taken.add({community.id(entry.id)}));
  (void)TRY(taken.finish());
  (void)TRY(sql.execute("UPDATE log_head SET size = $1, root = $2, updated_at = $3",
                        {growth.size(), growth.root, now_ms}));
  return {};
}

// A checkpoint of what the log is now, unless there is one or it is too early.
Result<std::optional<Checkpoint>> add_checkpoint(sql::Transaction& sql, const Community& community,
                                                 const crypto::Ed25519Key& key, const Head& head,
                                                 const Pass& pass, const PassOptions& options) {
  const auto newest = TRY(find_newest_checkpoint(sql, community));
  if (newest ? newest->size >= pass.size : pass.size == 0) return std::nullopt;
  if (newest && pass.is_full && head.now_ms - newest->at_ms < options.checkpoint_interval_ms)
    return std::nullopt;
  Checkpoint checkpoint;
  checkpoint.size = pass.size;
  const auto root = TRY(sql.value<Hash256>(community.sql("SELECT root FROM @log_head")));
  if (!root) return fail(Code::kCorrupt, "log_head of '{}' has no row", community.name());
  checkpoint.root = *root;
  checkpoint.at_ms = newest ? std::max(newest->at_ms, head.now_ms) : head.now_ms;
  sign(checkpoint, community.name(), key);
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @checkpoints (size, root, at, signature) VALUES ($1, $2, $3, $4)"),
      {checkpoint.size, checkpoint.root, checkpoint.at_ms, checkpoint.signature}));
  return checkpoint;
}

}  // namespace

Result<Pass> run_pass(const Community& community, const crypto::Ed25519Key* key,
                      const PassOptions& options) {
  const auto body = [&](sql::Transaction& sql) -> Result<Pass> {
    Pass pass;
    const auto head = TRY(lock_head(sql, community));
    if (!head) {
      pass.is_busy = true;
      return pass;
    }
    auto entries = TRY(take_outbox(sql, community, options.max_entries));
    pass.entries = entries.size();
    pass.is_full = entries.size() == options.max_entries;
    pass.size = head->size + entries.size();
    if (!entries.empty()) {
      // A plan that was made for small tables would compare every row with every other.
      if (!community.is_sqlite())
        TRY(sql.query("SELECT set_config('enable_seqscan', 'off', true)"));
      const Growth growth = TRY(grow(sql, community, head->size, std::move(entries)));
      TRY(community.is_sqlite() ? store_sqlite(sql, community, growth, head->now_ms)
                                : store_postgres(sql, community, growth, head->now_ms));
    }
    if (key != nullptr)
      pass.checkpoint = TRY(add_checkpoint(sql, community, *key, *head, pass, options));
    return pass;
  };
  auto pass = community.database().run_transaction(body, {.idempotent = true});
  if (!pass)
    return fail(explain(std::move(pass).error()).in("the log of '" + community.name() + "'"));
  return pass;
}

Result<bool> is_pass_due(const Community& community, bool has_key) {
  auto connection = TRY(community.database().acquire());
  const char* text = has_key ? "SELECT EXISTS (SELECT 1 FROM @log_outbox) OR (SELECT size FROM "
                               "@log_head) > coalesce((SELECT max(size) FROM @checkpoints), 0)"
                             : "SELECT EXISTS (SELECT 1 FROM @log_outbox)";
  return TRY(connection.value<bool>(community.sql(text))).value_or(false);
}

}  // namespace coffer::token
