// One community as the engine's statements see it: its name, its database, and the text and the
// parameters of statements that serve PostgreSQL and SQLite alike.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include <coffer/token/types.h>
#include "sql/connection.h"

namespace coffer::token {

// An id as a parameter: 16 bytes on PostgreSQL, text on SQLite. Use it in the argument list, as
// sql::Param.
class IdParam {
 public:
  IdParam(sql::Dialect dialect, const Uuid& id);
  operator sql::Param() const;  // NOLINT(google-explicit-constructor)

 private:
  Uuid id_;
  std::string text_;  // on SQLite
};

// Thread-safe.
class Community {
 public:
  // The database has it and is of this version: prepare_community() said so.
  Community(sql::Database& database, std::string name);

  const std::string& name() const { return name_; }
  sql::Database& database() const { return database_; }
  sql::Dialect dialect() const { return database_.dialect(); }
  bool is_sqlite() const { return dialect() == sql::Dialect::kSqlite; }

  // The text of a statement for this community. `text` is a literal of the program. "@name" becomes
  // a name of the community's schema on PostgreSQL (T11) and plain "name" on SQLite; a cast
  // "::type" or "::type[]" is left out on SQLite; "@now" is the database's clock there and here.
  // The result lives as long as the community. Cost: a look-up after the first time.
  std::string_view sql(const char* text) const;

  IdParam id(const Uuid& value) const { return {dialect(), value}; }
  // Nothing for NULL.
  class OptionalId {
   public:
    OptionalId(sql::Dialect dialect, const std::optional<Uuid>& id);
    operator sql::Param() const;  // NOLINT(google-explicit-constructor)

   private:
    std::optional<IdParam> id_;
  };
  OptionalId id(const std::optional<Uuid>& value) const { return {dialect(), value}; }

  // A column of ids.
  Result<Uuid> read_id(const sql::Rows& rows, int column) const;
  Result<std::optional<Uuid>> read_id_if(const sql::Rows& rows, int column) const;

 private:
  sql::Database& database_;
  const std::string name_;
  mutable std::shared_mutex mutex_;
  mutable std::unordered_map<const char*, std::string> texts_;  // by address of the literal
};

// Says who acts in this transaction, for the events that triggers record, until its end: the
// settings coffer.actor and coffer.reason on PostgreSQL, the table `actor` on SQLite. On SQLite
// end_acting() must follow before the commit.
Result<> begin_acting(sql::Transaction& sql, const Community& community, const Actor& actor);
Result<> end_acting(sql::Transaction& sql, const Community& community);

// The database's clock, asked once a transaction (W8).
Result<std::int64_t> database_now(sql::Reader& sql, const Community& community);

// A line of the audit table, in the transaction of what it tells. `detail`: the text of a JSON
// object, or empty.
Result<> write_audit(sql::Transaction& sql, const Community& community, const Actor& actor,
                     std::string_view action, std::string_view target, std::string_view detail,
                     std::int64_t now_ms);

// An error of a statement with the reason and the code that it has for people: TK009 becomes
// insufficient_balance. Others pass unchanged. reasons.cpp has the table.
Error explain(Error error);

}  // namespace coffer::token
