#include "token/community.h"

#include <cctype>

#include "base/result.h"

namespace coffer::token {
namespace {

bool is_name_char(char c) {
  return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '_';
}

std::string expand(std::string_view text, sql::Dialect dialect, std::string_view schema) {
  const bool sqlite = dialect == sql::Dialect::kSqlite;
  std::string out;
  out.reserve(text.size() + 64);
  bool quoted = false;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '\'') quoted = !quoted;
    if (!quoted && text[i] == '@') {
      const std::string_view rest = text.substr(i + 1);
      if (rest.starts_with("now") && (rest.size() == 3 || !is_name_char(rest[3]))) {
        if (sqlite)
          out += "(SELECT now_ms FROM token_clock)";
        else
          out.append(schema).append(".coffer_now()");
        i += 4;
        continue;
      }
      if (!sqlite) out.append(schema).push_back('.');
      ++i;
      continue;
    }
    if (!quoted && sqlite && text.substr(i).starts_with("::")) {
      i += 2;
      while (i < text.size() && is_name_char(text[i])) ++i;
      if (text.substr(i).starts_with("[]")) i += 2;
      continue;
    }
    out.push_back(text[i++]);
  }
  return out;
}

}  // namespace

IdParam::IdParam(sql::Dialect dialect, const Uuid& id) : id_(id) {
  if (dialect == sql::Dialect::kSqlite) text_ = to_string(id);
}
IdParam::operator sql::Param() const {
  return text_.empty() ? sql::Param(id_) : sql::Param(text_);
}

Community::OptionalId::OptionalId(sql::Dialect dialect, const std::optional<Uuid>& id) {
  if (id) id_.emplace(dialect, *id);
}
Community::OptionalId::operator sql::Param() const {
  return id_ ? sql::Param(*id_) : sql::Param(nullptr);
}

Community::Community(sql::Database& database, std::string name)
    : database_(database), name_(std::move(name)) {}

std::string_view Community::sql(const char* text) const {
  {
    const std::shared_lock lock(mutex_);
    if (const auto found = texts_.find(text); found != texts_.end()) return found->second;
  }
  const std::unique_lock lock(mutex_);
  return texts_.try_emplace(text, expand(text, dialect(), name_)).first->second;
}

Result<Uuid> Community::read_id(const sql::Rows& rows, int column) const {
  if (is_sqlite()) return parse_uuid(TRY(rows.get<std::string_view>(column)));
  return rows.get<Uuid>(column);
}

Result<std::optional<Uuid>> Community::read_id_if(const sql::Rows& rows, int column) const {
  if (rows.is_null(column)) return std::nullopt;
  return TRY(read_id(rows, column));
}

Result<> begin_acting(sql::Transaction& sql, const Community& community, const Actor& actor) {
  if (community.is_sqlite()) {
    (void)TRY(sql.execute(
        "INSERT INTO actor (only_row, actor, reason) VALUES (1, $1, $2)",
        {actor.name, actor.reason.empty() ? sql::Param(nullptr) : sql::Param(actor.reason)}));
    return {};
  }
  TRY(sql.query(
      "SELECT set_config('coffer.actor', $1, true), set_config('coffer.reason', $2, true)",
      {actor.name, actor.reason}));
  return {};
}

Result<> end_acting(sql::Transaction& sql, const Community& community) {
  if (community.is_sqlite()) (void)TRY(sql.execute("DELETE FROM actor"));
  return {};
}

Result<std::int64_t> database_now(sql::Reader& sql, const Community& community) {
  const auto now = TRY(sql.value<std::int64_t>(community.sql("SELECT @now")));
  if (!now) return fail(Code::kInternal, "the database of '{}' has no clock", community.name());
  return *now;
}

Result<> write_audit(sql::Transaction& sql, const Community& community, const Actor& actor,
                     std::string_view action, std::string_view target, std::string_view detail,
                     std::int64_t now_ms) {
  const auto text_or_null = [](std::string_view text) {
    return text.empty() ? sql::Param(nullptr) : sql::Param(text);
  };
  (void)TRY(
      sql.execute(community.sql("INSERT INTO @audit (id, at, actor, action, target, reason, detail)"
                                " VALUES ($1::uuid, $2, $3, $4, $5, $6, $7)"),
                  {community.id(random_uuid()), now_ms, actor.name, action, text_or_null(target),
                   text_or_null(actor.reason), text_or_null(detail)}));
  return {};
}

}  // namespace coffer::token
