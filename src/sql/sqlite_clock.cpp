#include "sql/sqlite_clock.h"

#include <algorithm>
#include <fstream>

namespace coffer::sql {
namespace {

constexpr std::string_view kReadClock = "SELECT now_ms, boot, steady_ms FROM coffer_clock";
constexpr std::string_view kKeepClock =
    "INSERT INTO coffer_clock (only_row, now_ms, boot, steady_ms) VALUES (1, ?1, ?2, ?3)"
    " ON CONFLICT (only_row) DO UPDATE SET now_ms = excluded.now_ms, boot = excluded.boot,"
    " steady_ms = excluded.steady_ms";
// How much older than the time the row may be. A lease that is given out without this program's
// coffer_now(), as by a trigger that reads the row, may be so much too short.
constexpr std::int64_t kToleranceMs = 1'000;

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

}  // namespace

SqliteClock::SqliteClock(const Clock* clock)
    : clock_(clock != nullptr ? *clock : system_clock()),
      boot_(clock != nullptr ? "of a test" : boot_id()) {}

void SqliteClock::forget_statement() {
  sqlite3_finalize(statement_);
  statement_ = nullptr;
}

std::optional<SqliteClock::Kept> SqliteClock::read(sqlite3* db) {
  if (statement_ == nullptr &&
      sqlite3_prepare_v3(db, kReadClock.data(), static_cast<int>(kReadClock.size()),
                         SQLITE_PREPARE_PERSISTENT, &statement_, nullptr) != SQLITE_OK)
    return std::nullopt;
  std::optional<Kept> kept;
  if (sqlite3_step(statement_) == SQLITE_ROW) {
    const auto* boot = reinterpret_cast<const char*>(sqlite3_column_text(statement_, 1));
    kept = Kept{sqlite3_column_int64(statement_, 0), boot != nullptr ? boot : "",
                sqlite3_column_int64(statement_, 2)};
  }
  sqlite3_reset(statement_);
  return kept;
}

std::int64_t SqliteClock::now_after(const std::optional<Kept>& kept) const {
  const std::int64_t wall_ms = clock_.unix_ms();
  if (!kept) return wall_ms;
  const bool same_boot = kept->boot == boot_ && !boot_.empty();
  const std::int64_t passed_ms = same_boot ? clock_.steady_ms() - kept->steady_ms : 0;
  return std::max(wall_ms, kept->now_ms + std::max<std::int64_t>(0, passed_ms));
}

std::int64_t SqliteClock::now_ms(sqlite3* db) {
  return now_after(read(db));
}

int SqliteClock::advance(sqlite3* db) {
  const auto kept = read(db);
  if (statement_ == nullptr) return SQLITE_OK;  // a database that has not been migrated
  const std::int64_t now_ms = now_after(kept);
  if (kept && kept->boot == boot_ && now_ms <= kept->now_ms + kToleranceMs) return SQLITE_OK;
  sqlite3_stmt* statement = nullptr;
  int code = sqlite3_prepare_v2(db, kKeepClock.data(), static_cast<int>(kKeepClock.size()),
                                &statement, nullptr);
  if (code != SQLITE_OK) return code;
  sqlite3_bind_int64(statement, 1, now_ms);
  sqlite3_bind_text(statement, 2, boot_.data(), static_cast<int>(boot_.size()), SQLITE_STATIC);
  sqlite3_bind_int64(statement, 3, clock_.steady_ms());
  code = sqlite3_step(statement);
  sqlite3_finalize(statement);
  return code == SQLITE_DONE ? SQLITE_OK : code;
}

}  // namespace coffer::sql
