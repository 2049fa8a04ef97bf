#include "txstore/sql/lists.h"

#include <fmt/ranges.h>

#include "base/result.h"

namespace coffer::txstore {
namespace {

// A statement ends here, which bounds the memory on both sides.
constexpr std::size_t kListRows = 16'384;
constexpr std::size_t kListBytes = 8u << 20;

std::string_view array_type(sql::PostgresArray::Element type) {
  using Element = sql::PostgresArray::Element;
  switch (type) {
    case Element::kBool: return "boolean[]";
    case Element::kBytea: return "bytea[]";
    case Element::kInt8: return "bigint[]";
    case Element::kText: return "text[]";
    case Element::kUuid: return "uuid[]";
  }
  return "";
}

std::size_t bytes_in(const sql::Param& value) {
  if (const auto* bytes = std::get_if<ByteView>(&value.value())) return bytes->size() + 4;
  return 12;
}

sql::PostgresArray list_of(std::span<const Hash256> hashes) {
  sql::PostgresArray list(sql::PostgresArray::Element::kBytea);
  for (const Hash256& hash : hashes) list.add(hash);
  return list;
}

}  // namespace

RowWriter::RowWriter(sql::Transaction& sql, std::string_view table, std::span<const Column> columns,
                     std::string_view conflict)
    : sql_(sql) {
  std::vector<std::string> names, values;
  const bool as_lists = sql.dialect() == sql::Dialect::kPostgres;
  for (const Column& column : columns) {
    names.emplace_back(column.name);
    values.push_back(fmt::format("${}", names.size()));
    if (!as_lists) continue;
    values.back() += fmt::format("::{}", array_type(column.type));
    lists_.emplace_back(column.type);
  }
  text_ =
      fmt::format("INSERT INTO {} ({}) {}({}) {}", table, fmt::join(names, ", "),
                  as_lists ? "SELECT * FROM unnest" : "VALUES ", fmt::join(values, ", "), conflict);
}

Result<> RowWriter::add(sql::Params row) {
  if (lists_.empty()) {
    if (!batch_) batch_.emplace(TRY(sql_.batch(text_)));
    return batch_->add(row);
  }
  TRY(sql::check(row));
  for (std::size_t i = 0; i < lists_.size(); ++i) {
    lists_[i].add(row[i]);
    bytes_ += bytes_in(row[i]);
  }
  return lists_.front().size() < kListRows && bytes_ < kListBytes ? Result<>() : flush();
}

Result<> RowWriter::flush() {
  std::vector<sql::Param> values;
  values.reserve(lists_.size());
  for (const sql::PostgresArray& list : lists_) values.emplace_back(list.view());
  written_ += TRY(sql_.execute(text_, values));
  for (sql::PostgresArray& list : lists_) list.clear();
  bytes_ = 0;
  return {};
}

Result<std::int64_t> RowWriter::finish() {
  if (batch_) return batch_->finish();
  if (!lists_.empty() && lists_.front().size() > 0) TRY(flush());
  return written_;
}

std::string overwrite_clause(std::span<const Column> columns, std::size_t keys) {
  std::vector<std::string> key, set;
  for (std::size_t i = 0; i < columns.size(); ++i)
    if (i < keys)
      key.emplace_back(columns[i].name);
    else
      set.push_back(fmt::format("{0} = excluded.{0}", columns[i].name));
  return fmt::format("ON CONFLICT ({}) DO UPDATE SET {}", fmt::join(key, ", "),
                     fmt::join(set, ", "));
}

std::string_view in_list(sql::Dialect dialect) {
  return dialect == sql::Dialect::kPostgres ? " = ANY($1::bytea[])" : " = $1";
}

Result<> query_list(sql::Reader& sql, std::string_view text, std::span<const Hash256> hashes,
                    const std::function<Result<>(const sql::Rows&)>& each) {
  if (hashes.empty()) return {};
  if (sql.dialect() == sql::Dialect::kPostgres) {
    const sql::PostgresArray list = list_of(hashes);
    sql::Rows rows = TRY(sql.query(text, {list.view()}));
    while (TRY(rows.next())) TRY(each(rows));
    return {};
  }
  for (const Hash256& hash : hashes) {
    sql::Rows rows = TRY(sql.query(text, {hash}));
    while (TRY(rows.next())) TRY(each(rows));
  }
  return {};
}

Result<> execute_list(sql::Transaction& sql, std::string_view text,
                      std::span<const Hash256> hashes) {
  if (hashes.empty()) return {};
  if (sql.dialect() == sql::Dialect::kPostgres) {
    const sql::PostgresArray list = list_of(hashes);
    (void)TRY(sql.execute(text, {list.view()}));
    return {};
  }
  for (const Hash256& hash : hashes) (void)TRY(sql.execute(text, {hash}));
  return {};
}

}  // namespace coffer::txstore
