#include "txstore/sql/statements.h"

#include <fmt/ranges.h>

#include "txstore/sql/rows.h"

namespace coffer::txstore {
namespace {

// A plan that is made while a table is small reads all of it, and stays after the table has grown,
// until the server analyses it. Here every statement finds its rows by a key.
constexpr std::string_view kPlanByKeys =
    ", set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)";

// Row locks that can be shared overtake one that cannot and waits: operations one after another
// would keep a block out for ever. These locks stand in one row. The number is "txstore" in ASCII.
constexpr std::string_view kWaitShared = ", pg_advisory_xact_lock_shared(32783534568469093)";
constexpr std::string_view kWaitExclusive = ", pg_advisory_xact_lock(32783534568469093)";

std::string add_counts_text(const std::string& table) {
  std::vector<std::string> set;
  for (const std::string& name : count_names())
    set.push_back(fmt::format("{0} = {0} + ${1}", name, set.size() + 1));
  return fmt::format("UPDATE {} SET {} WHERE only_row = 1", table, fmt::join(set, ", "));
}

}  // namespace

Statements::Statements(sql::Dialect engine)
    : dialect(engine), prefix(engine == sql::Dialect::kPostgres ? "txstore." : "") {
  const bool postgres = dialect == sql::Dialect::kPostgres;
  // {p}: before the name of a table. {list}: compares with a list of hashes.
  const auto text = [&](std::string_view format) {
    return fmt::format(fmt::runtime(format), fmt::arg("p", prefix),
                       fmt::arg("list", in_list(dialect)));
  };
  const auto select = [&](std::string_view columns, std::string_view rest) {
    return fmt::format("SELECT {} FROM {}", columns, text(rest));
  };

  const auto tip_text = [&](std::string_view wait, std::string_view lock) {
    const std::string columns = "position, final_height, first_block";
    const std::string_view rest = "{p}txstore_tip WHERE only_row = 1";
    if (!postgres) return select(columns, rest);
    return select(fmt::format("{}{}{}", columns, kPlanByKeys, wait), rest) + std::string(lock);
  };
  tip = tip_text("", "");
  hold_tip_shared = tip_text(kWaitShared, " FOR SHARE");
  hold_tip_exclusive = tip_text(kWaitExclusive, " FOR UPDATE");
  set_tip = text(
      "UPDATE {p}txstore_tip SET position = $1, final_height = $2, first_block = $3"
      " WHERE only_row = 1");
  counts = select(fmt::format("{}", fmt::join(count_names(), ", ")),
                  "{p}txstore_counts WHERE only_row = 1");
  add_counts = add_counts_text(table("txstore_counts"));

  heads = select(names_of(kHeadColumns), "{p}transactions WHERE hash{list} ORDER BY hash");
  heads_locked = heads + (postgres ? " FOR UPDATE" : "");
  inputs = select(names_of(kInputColumns), "{p}inputs WHERE hash{list} ORDER BY hash, idx");
  block_ids = select(names_of(kBlockIdColumns),
                     "{p}block_ids WHERE hash{list} ORDER BY hash, block_height, block_id");
  outputs = select(names_of(kOutputColumns), "{p}outputs WHERE hash{list} ORDER BY hash, idx");
  known = select("hash", "{p}transactions WHERE hash{list}");
  delete_heads = text("DELETE FROM {p}transactions WHERE hash{list}");
  delete_bodies = text("DELETE FROM {p}tx_bodies WHERE hash{list}");
  delete_inputs = text("DELETE FROM {p}inputs WHERE hash{list}");
  delete_outputs = text("DELETE FROM {p}outputs WHERE hash{list}");
  delete_block_ids = text("DELETE FROM {p}block_ids WHERE hash{list}");
  delete_marks = text("DELETE FROM {p}marks WHERE hash{list}");

  const std::string page = fmt::format(
      "SELECT {} FROM {}outputs WHERE hash = {{}} AND idx >= {{}}"
      " ORDER BY idx LIMIT {}",
      names_of(kOutputColumns), prefix, kPageEntries);
  // A subquery with a limit is asked once for each page, whatever the planner thinks.
  pages = postgres ? fmt::format(
                         "SELECT o.* FROM unnest($1::bytea[], $2::bigint[]) AS p(page_of, first)"
                         " CROSS JOIN LATERAL ({}) AS o",
                         fmt::format(fmt::runtime(page), "p.page_of", "p.first"))
                   : fmt::format(fmt::runtime(page), "$1", "$2");

  body = text(
      "SELECT t.hash, b.raw, b.fee FROM {p}transactions t LEFT JOIN {p}tx_bodies b"
      " ON b.hash = t.hash WHERE t.hash = $1");
  due = text(
      "SELECT due_at, hash FROM {p}transactions WHERE due_at IS NOT NULL AND due_at <= $1"
      " AND (due_at, hash) > ($2, $3) ORDER BY due_at, hash LIMIT $4");
  unmined = text(
      "SELECT unmined_since, hash FROM {p}transactions WHERE unmined_since IS NOT NULL"
      " AND (unmined_since, hash) > ($1, $2) ORDER BY unmined_since, hash LIMIT $3");
  ids_after = text("SELECT hash FROM {p}transactions WHERE hash > $1 ORDER BY hash LIMIT $2");
  marks = select(names_of(kMarkColumns), "{p}marks WHERE hash{list}");

  block = text("SELECT position, undo FROM {p}txstore_blocks WHERE height = $1");
  block_below =
      text("SELECT position FROM {p}txstore_blocks WHERE height < $1 ORDER BY height DESC LIMIT 1");
  blocks_after = text(
      "SELECT height, position, undo FROM {p}txstore_blocks WHERE height > $1"
      " ORDER BY height LIMIT 16");
  delete_block = text("DELETE FROM {p}txstore_blocks WHERE height = $1");

  final_of = text(
      "SELECT 1 FROM {p}outputs WHERE state & 8 = 8 AND spending_data >= $1"
      " AND spending_data <= $2 LIMIT 1");
  final_after = text(
      "SELECT spending_data, hash FROM {p}outputs WHERE state & 8 = 8 AND spending_data > $1"
      " ORDER BY spending_data LIMIT 1000");
  disk_bytes = postgres ? "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint"
                          " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
                          " WHERE n.nspname = 'txstore' AND c.relkind = 'r'"
                        : "SELECT page_count * page_size"
                          " FROM pragma_page_count(), pragma_page_size()";
}

}  // namespace coffer::txstore
