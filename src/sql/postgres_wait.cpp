// Everything that waits for a PostgreSQL server on an open connection (E13): statements, pipelines
// and COPY only say what they wait for.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/result.h"
#include "sql/postgres_impl.h"

namespace coffer::sql {

// Why there is no answer, and nothing more on this connection: whatever libpq calls then finds its
// socket closed instead of waiting. `from`: the words that name the server.
void PostgresDriver::abandon(WaitEnd end, const std::string& from) {
  lost_ = true;
  if (end == WaitEnd::kTooLong)
    unanswered_ = fmt::format("no answer{} within {} ms", from, limit_ms_);
  else if (end == WaitEnd::kStopped)
    unanswered_ = fmt::format("no answer{} until this program had to stop", from);
  else
    unanswered_ = errno_error(errno, "cannot wait for an answer" + from).message;
  ::shutdown(PQsocket(connection_), SHUT_RDWR);
}

bool PostgresDriver::wait_for(short events) {
  if (is_broken()) return false;
  pollfd socket{PQsocket(connection_), events, 0};
  if (const WaitEnd end = sql::wait_for(socket, limit_ms_, options_.stop); end != WaitEnd::kReady) {
    abandon(end, " from " + name_);
    return false;
  }
  if ((socket.revents & ~POLLOUT) == 0 || PQconsumeInput(connection_) == 1) return true;
  return PQisBusy(connection_) == 0;  // the last thing it said
}

bool PostgresDriver::flush() {
  for (;;) {
    const int left = PQflush(connection_);
    if (left <= 0) return left == 0;
    if (!wait_for(POLLIN | POLLOUT)) return false;
  }
}

std::optional<PgResult> PostgresDriver::next_result() {
  while (PQisBusy(connection_) == 1)
    if (!wait_for(POLLIN)) return std::nullopt;
  PgResult result(PQgetResult(connection_));
  if (!result && is_broken()) return std::nullopt;
  return result;
}

PgResult PostgresDriver::last_result() {
  waited();
  PgResult last;
  if (!flush()) return last;
  while (auto next = next_result()) {
    if (!*next) break;
    last = *std::move(next);
    // In COPY the server says no more until it has the data.
    if (PQresultStatus(last.get()) == PGRES_COPY_IN) break;
  }
  return last;
}

PgResult PostgresDriver::ask(const std::string& text) {
  if (is_broken() || PQsendQuery(connection_, text.c_str()) != 1) return nullptr;
  return last_result();
}

void PostgresDriver::run_briefly(const std::string& text) {
  constexpr std::int64_t kBrieflyMs = 5'000;
  const std::int64_t usual_ms = std::exchange(limit_ms_, std::min(limit_ms_, kBrieflyMs));
  (void)ask(text);
  limit_ms_ = usual_ms;
}

}  // namespace coffer::sql
