#include "token/account/export.h"

#include <array>
#include <span>

#include "json/writer.h"
#include "token/store_impl.h"

namespace coffer::token {
namespace {

constexpr std::size_t kLinesAtOnce = 64u << 10;  // bytes

enum class ColumnType : std::uint8_t { kId, kText, kInteger, kAmount, kBool, kBytes };

struct ExportColumn {
  std::string_view name;
  ColumnType type;
};

struct ExportTable {
  std::string_view name;
  const char* sql;
  std::vector<ExportColumn> columns;
};

using enum ColumnType;

std::vector<ExportTable> member_tables() {
  return {
      {"system_accounts",
       "SELECT id, wallet_id, name, created_at, updated_at FROM @system_accounts",
       {{"id", kId},
        {"wallet_id", kId},
        {"name", kText},
        {"created_at", kInteger},
        {"updated_at", kInteger}}},
      {"users",
       "SELECT id, wallet_id, username, created_at, updated_at, deleted_at FROM @users",
       {{"id", kId},
        {"wallet_id", kId},
        {"username", kText},
        {"created_at", kInteger},
        {"updated_at", kInteger},
        {"deleted_at", kInteger}}},
      {"external_identities",
       "SELECT issuer, subject, user_id, created_at, created_by FROM @external_identities",
       {{"issuer", kText},
        {"subject", kText},
        {"user_id", kId},
        {"created_at", kInteger},
        {"created_by", kText}}},
      {"role_grants",
       "SELECT issuer, subject, role, created_at, created_by FROM @role_grants",
       {{"issuer", kText},
        {"subject", kText},
        {"role", kText},
        {"created_at", kInteger},
        {"created_by", kText}}},
      {"api_keys",
       "SELECT id, name, scopes, created_by, created_at, expires_at, revoked_at, last_used_at"
       " FROM @api_keys",
       {{"id", kId},
        {"name", kText},
        {"scopes", kText},
        {"created_by", kText},
        {"created_at", kInteger},
        {"expires_at", kInteger},
        {"revoked_at", kInteger},
        {"last_used_at", kInteger}}},
  };
}

std::vector<ExportTable> money_tables() {
  return {
      {"wallets",
       "SELECT id, balance, is_frozen, created_at, updated_at FROM @wallets",
       {{"id", kId},
        {"balance", kAmount},
        {"is_frozen", kBool},
        {"created_at", kInteger},
        {"updated_at", kInteger}}},
      {"wallet_limits",
       "SELECT wallet_id, per_transfer, per_day, day, spent FROM @wallet_limits",
       {{"wallet_id", kId},
        {"per_transfer", kAmount},
        {"per_day", kAmount},
        {"day", kInteger},
        {"spent", kAmount}}},
      {"transactions",
       "SELECT id, from_wallet_id, to_wallet_id, amount, transaction_type, created_at"
       " FROM @transactions",
       {{"id", kId},
        {"from_wallet_id", kId},
        {"to_wallet_id", kId},
        {"amount", kAmount},
        {"transaction_type", kInteger},
        {"created_at", kInteger}}},
      {"transaction_details",
       "SELECT transaction_id, memo, metadata, memo_salt, metadata_salt, memo_hash, metadata_hash,"
       " actor, erased_at FROM @transaction_details",
       {{"transaction_id", kId},
        {"memo", kText},
        {"metadata", kText},
        {"memo_salt", kBytes},
        {"metadata_salt", kBytes},
        {"memo_hash", kBytes},
        {"metadata_hash", kBytes},
        {"actor", kText},
        {"erased_at", kInteger}}},
      {"reversals",
       "SELECT transaction_id, reversal_id, reason, actor, created_at FROM @reversals",
       {{"transaction_id", kId},
        {"reversal_id", kId},
        {"reason", kText},
        {"actor", kText},
        {"created_at", kInteger}}},
      {"wallet_entries",
       "SELECT wallet_id, version, booked_at, transaction_id, delta, balance"
       " FROM @wallet_entries",
       {{"wallet_id", kId},
        {"version", kInteger},
        {"booked_at", kInteger},
        {"transaction_id", kId},
        {"delta", kAmount},
        {"balance", kAmount}}},
      {"holds",
       "SELECT id, wallet_id, to_wallet_id, amount, captured, state, created_by, memo, created_at,"
       " expires_at, ended_at, capture_transaction_id FROM @holds",
       {{"id", kId},
        {"wallet_id", kId},
        {"to_wallet_id", kId},
        {"amount", kAmount},
        {"captured", kAmount},
        {"state", kText},
        {"created_by", kText},
        {"memo", kText},
        {"created_at", kInteger},
        {"expires_at", kInteger},
        {"ended_at", kInteger},
        {"capture_transaction_id", kId}}},
  };
}

std::vector<ExportTable> record_tables() {
  return {
      {"wallet_events",
       "SELECT id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason"
       " FROM @wallet_events",
       {{"id", kId},
        {"kind", kInteger},
        {"at", kInteger},
        {"wallet_id", kId},
        {"subject_id", kId},
        {"related_id", kId},
        {"amount", kAmount},
        {"actor", kText},
        {"reason", kText}}},
      {"audit",
       "SELECT id, at, actor, action, target, reason, detail FROM @audit ORDER BY at, id",
       {{"id", kId},
        {"at", kInteger},
        {"actor", kText},
        {"action", kText},
        {"target", kText},
        {"reason", kText},
        {"detail", kText}}},
      {"settings", "SELECT key, value FROM @settings", {{"key", kText}, {"value", kText}}},
      {"log_outbox",
       "SELECT id, kind, at, body FROM @log_outbox",
       {{"id", kId}, {"kind", kInteger}, {"at", kInteger}, {"body", kText}}},
      {"log_leaves",
       "SELECT position, id, kind, leaf_hash, at, body FROM @log_leaves ORDER BY position",
       {{"position", kInteger},
        {"id", kId},
        {"kind", kInteger},
        {"leaf_hash", kBytes},
        {"at", kInteger},
        {"body", kText}}},
      {"checkpoints",
       "SELECT size, root, at, signature FROM @checkpoints ORDER BY size",
       {{"size", kInteger}, {"root", kBytes}, {"at", kInteger}, {"signature", kBytes}}},
  };
}

// A field as it is written; nothing for NULL.
Result<std::optional<std::string>> field_text(const Community& community, const sql::Rows& rows,
                                              int column, ColumnType type) {
  if (rows.is_null(column)) return std::nullopt;
  switch (type) {
    case kId: {
      const Uuid id = TRY(community.read_id(rows, column));
      return to_string(id);
    }
    case kText: return TRY(rows.get<std::string>(column));
    case kInteger:
    case kAmount: {
      const auto number = TRY(rows.get<std::int64_t>(column));
      return std::to_string(number);
    }
    case kBool: return std::string(TRY(rows.get<bool>(column)) ? "true" : "false");
    case kBytes: {
      const auto bytes = TRY(rows.get<ByteView>(column));
      return to_hex(bytes);
    }
  }
  return fail(Code::kInternal, "unknown type of column");
}

std::string quoted_for_csv(std::string text, ColumnType type) {
  if (type == kText && !text.empty() && std::string_view("=+-@\t\r").contains(text.front()))
    text.insert(0, 1, '\'');
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
  return out;
}

Result<std::string> csv_line(const Community& community, const sql::Rows& rows,
                             const ExportTable& table) {
  std::string line;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ColumnType type = table.columns[i].type;
    auto text = TRY(field_text(community, rows, static_cast<int>(i), type));
    if (i > 0) line.push_back(',');
    if (text) line += quoted_for_csv(*std::move(text), type);
  }
  return line;
}

Result<std::string> json_line(const Community& community, const sql::Rows& rows,
                              const ExportTable& table) {
  json::Writer out;
  out.begin_object();
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    const ExportColumn& column = table.columns[i];
    const auto text = TRY(field_text(community, rows, static_cast<int>(i), column.type));
    out.key(column.name);
    if (!text)
      out.null();
    else if (column.type == kInteger || column.type == kBool)
      out.raw(*text);
    else
      out.value(*text);
  }
  out.end_object();
  return out.take();
}

std::string csv_head(const ExportTable& table) {
  std::string line;
  for (const ExportColumn& column : table.columns) {
    if (!line.empty()) line.push_back(',');
    line += column.name;
  }
  return line + "\n";
}

Result<std::uint64_t> export_table(sql::Transaction& sql, const Community& community,
                                   ExportFormat format, const ExportTable& table,
                                   const ExportSink& sink) {
  std::uint64_t count = 0;
  std::string lines = format == ExportFormat::kCsv ? csv_head(table) : "";
  sql::Rows rows = TRY(sql.stream(community.sql(table.sql)));
  while (TRY(rows.next())) {
    lines += TRY(format == ExportFormat::kCsv ? csv_line(community, rows, table)
                                              : json_line(community, rows, table));
    lines.push_back('\n');
    ++count;
    if (lines.size() < kLinesAtOnce) continue;
    TRY(sink(table.name, lines));
    lines.clear();
  }
  if (!lines.empty()) TRY(sink(table.name, lines));
  return count;
}

}  // namespace

// Without any retry: the sink has had what was read.
Result<std::vector<ExportedTable>> export_all(const Community& community, ExportFormat format,
                                              const ExportSink& sink) {
  sql::Connection connection = TRY(community.database().acquire(sql::Access::kRead));
  sql::Transaction transaction = TRY(connection.begin(kRead));
  std::vector<ExportedTable> exported;
  for (const auto& tables : {member_tables(), money_tables(), record_tables()})
    for (const ExportTable& table : tables) {
      const std::uint64_t rows =
          TRY_IN(table.name, export_table(transaction, community, format, table, sink));
      exported.push_back({std::string(table.name), rows});
    }
  return exported;
}

}  // namespace coffer::token
