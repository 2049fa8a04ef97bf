// The one table that says what an engine's errors mean to us: our code, whether the same
// transaction may be tried again, and what a person can do. docs/formats/sql.md repeats it in
// words.
#include <sqlite3.h>

#include <algorithm>
#include <string>

#include "base/result.h"
#include "sql/impl.h"

namespace coffer::sql {
namespace {

struct Meaning {
  Code code;
  Trouble trouble;
  std::string_view advice;
};

constexpr std::string_view kFreeSpace = "the disk is full: free some space, nothing is lost";
constexpr std::string_view kDamaged = "the data is damaged: restore a backup";
constexpr std::string_view kAgain = "try again";
constexpr std::string_view kCheckDisk = "check the disk and the system log";
constexpr std::string_view kCheckServer = "check that the server is running and can be reached";
constexpr std::string_view kCheckOwner = "check the owner and mode of the file and its directory";
constexpr std::string_view kBug = "this is a bug";

constexpr Meaning kRefused = {Code::kConflict, Trouble::kFailed, ""};
constexpr Meaning kBadValue = {Code::kInvalidInput, Trouble::kFailed, ""};
constexpr Meaning kBusy = {Code::kUnavailable, Trouble::kTryAgain, kAgain};
constexpr Meaning kConnectionLost = {Code::kUnavailable, Trouble::kLost, kCheckServer};
constexpr Meaning kCorrupt = {Code::kCorrupt, Trouble::kFailed, kDamaged};
constexpr Meaning kFull = {Code::kUnavailable, Trouble::kFailed, kFreeSpace};
constexpr Meaning kOurBug = {Code::kInternal, Trouble::kFailed, kBug};

struct SqliteEntry {
  int code;  // an extended code, or a primary one that stands for all of its extended codes
  Meaning meaning;
};

constexpr SqliteEntry kSqlite[] = {
    {SQLITE_CONSTRAINT_CHECK, kBadValue},
    {SQLITE_CONSTRAINT_NOTNULL, kBadValue},
    {SQLITE_CONSTRAINT_DATATYPE, kBadValue},
    {SQLITE_CONSTRAINT, kRefused},  // unique, primary key, foreign key, RAISE in a trigger
    {SQLITE_MISMATCH, kBadValue},
    {SQLITE_TOOBIG, {Code::kTooLarge, Trouble::kFailed, ""}},
    {SQLITE_BUSY, kBusy},
    {SQLITE_LOCKED, kBusy},
    {SQLITE_FULL, kFull},
    {SQLITE_IOERR_SHMSIZE, kFull},  // no room for the shared memory
    {SQLITE_CORRUPT, kCorrupt},
    {SQLITE_NOTADB, kCorrupt},
    {SQLITE_INTERRUPT, {Code::kTimeout, Trouble::kFailed, "the statement took too long"}},
    {SQLITE_NOMEM, {Code::kUnavailable, Trouble::kFailed, "there is not enough memory"}},
    {SQLITE_READONLY, {Code::kUnavailable, Trouble::kFailed, kCheckOwner}},
    {SQLITE_PERM, {Code::kUnavailable, Trouble::kFailed, kCheckOwner}},
    {SQLITE_CANTOPEN, {Code::kUnavailable, Trouble::kFailed, kCheckOwner}},
    {SQLITE_IOERR, {Code::kUnavailable, Trouble::kFailed, kCheckDisk}},
};

struct PostgresEntry {
  std::string_view state;  // five characters, or two for the rest of a class
  Meaning meaning;
};

constexpr PostgresEntry kPostgres[] = {
    {"23514", kBadValue},  // check
    {"23502", kBadValue},  // not null
    {"23", kRefused},      // unique, foreign key, exclusion
    {"P0001", kRefused},   // RAISE in a trigger
    {"22", kBadValue},
    {"54", {Code::kTooLarge, Trouble::kFailed, ""}},
    {"40003", kConnectionLost},
    {"40", kBusy},     // serialization failure, deadlock
    {"55P03", kBusy},  // lock_timeout
    {"55006", kBusy},  // object in use
    {"53100", kFull},
    {"53300", {Code::kUnavailable, Trouble::kLost, "the server has too many connections"}},
    {"53", {Code::kUnavailable, Trouble::kFailed, "the server lacks a resource"}},
    {"57014", {Code::kTimeout, Trouble::kFailed, "the statement took too long or was cancelled"}},
    {"57", kConnectionLost},  // shutdown, crash, starting up
    {"08P01", kOurBug},       // a wrong number of parameters
    {"08", kConnectionLost},
    {"25P03",
     kConnectionLost},  // idle in a transaction for too long: the server has closed the connection
    {"25P04", kConnectionLost},  // the same for the whole transaction
    // Another server is the primary now: a new connection finds it.
    {"25006", {Code::kUnavailable, Trouble::kLost, "this server takes no writes"}},
    {"28", {Code::kUnauthorized, Trouble::kFailed, "check user, password and pg_hba.conf"}},
    {"3D000", {Code::kNotFound, Trouble::kFailed, "create the database first"}},
    {"42501", {Code::kForbidden, Trouble::kFailed, "grant the role what it needs"}},
    {"26000", {Code::kUsage, Trouble::kFailed, "behind a pooler? add pooled=true to the location"}},
    {"58", {Code::kUnavailable, Trouble::kFailed, kCheckDisk}},
    {"XX001", kCorrupt},
    {"XX002", kCorrupt},
};

constexpr std::string_view kUnique = "unique";

// A refusal that a schema gave a code of its own, such as TK009: two capitals and three digits.
// PostgreSQL's own classes of that form are HV (foreign data) and XX (internal).
bool is_own_code(std::string_view text) {
  const auto all = [](std::string_view part, char first, char last) {
    return std::ranges::all_of(part, [=](char c) { return c >= first && c <= last; });
  };
  return text.size() == 5 && all(text.substr(0, 2), 'A', 'Z') && all(text.substr(2), '0', '9') &&
         !text.starts_with("HV") && !text.starts_with("XX");
}

// The same on both engines: the code apart, the schema's own words as the message.
Failure own_refusal(std::string_view code, std::string_view message) {
  Failure failure{make_error(Code::kConflict, one_line(message)), Trouble::kFailed};
  failure.error.reason = code;
  return failure;
}

Failure make(const Meaning& meaning, std::string_view engine, std::string_view message,
             std::string_view sql) {
  std::string text = fmt::format("{}: {}", engine, one_line(message));
  if (!meaning.advice.empty()) text += fmt::format("; {}", meaning.advice);
  if (meaning.code == Code::kInternal && !sql.empty()) text += fmt::format(", in: {}", brief(sql));
  Failure failure{make_error(meaning.code, std::move(text)), meaning.trouble};
  failure.error.retryable = meaning.trouble == Trouble::kTryAgain ||
                            meaning.trouble == Trouble::kLost || meaning.code == Code::kTimeout;
  return failure;
}

}  // namespace

Failure sqlite_failure(int code, std::string_view message, std::string_view sql) {
  const std::string_view word = message.substr(0, message.find(' '));
  if (code == SQLITE_CONSTRAINT_TRIGGER && is_own_code(word))
    return own_refusal(word, message.substr(std::min(word.size() + 1, message.size())));
  for (const auto& entry : kSqlite) {
    if (entry.code != code && entry.code != (code & 0xff)) continue;
    Failure failure = make(entry.meaning, "sqlite", message, sql);
    if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY ||
        code == SQLITE_CONSTRAINT_ROWID)
      failure.error.reason = kUnique;
    return failure;
  }
  return make(kOurBug, "sqlite", message, sql);
}

Failure postgres_failure(std::string_view state, std::string_view message, std::string_view sql) {
  if (is_own_code(state)) return own_refusal(state, message);
  for (const auto& entry : kPostgres) {
    if (!state.starts_with(entry.state)) continue;
    Failure failure = make(entry.meaning, "postgres", message, sql);
    if (state == "23505") failure.error.reason = kUnique;
    return failure;
  }
  return make(kOurBug, "postgres", message, sql);
}

}  // namespace coffer::sql
