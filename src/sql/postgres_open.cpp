// Connecting to PostgreSQL, directly or through a pooler.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include <coffer/base/clock.h>
#include <coffer/base/log.h>
#include "base/result.h"
#include "base/shell.h"
#include "sql/postgres_impl.h"

namespace coffer::sql {
namespace {

struct FreeOptions {
  void operator()(PQconninfoOption* options) const { PQconninfoFree(options); }
};
using ConnectOptions = std::unique_ptr<PQconninfoOption, FreeOptions>;

std::string_view value_of(const ConnectOptions& options, std::string_view keyword) {
  for (const auto* at = options.get(); at->keyword != nullptr; ++at)
    if (keyword == at->keyword && at->val != nullptr) return at->val;
  return "";
}

// Where a password holds an '@' or '/' as it is, libpq takes a part of it for the host, the port or
// the database, and then it would be shown.
bool is_plausible(const ConnectOptions& options) {
  const auto has_any = [](std::string_view text, std::string_view of) {
    return text.find_first_of(of) != std::string_view::npos;
  };
  for (std::string_view hosts = value_of(options, "host"); !hosts.empty();) {
    const std::string_view host = hosts.substr(0, hosts.find(','));
    if (has_any(host, host.starts_with('/') ? "@" : "@/")) return false;
    hosts.remove_prefix(std::min(host.size() + 1, hosts.size()));
  }
  return value_of(options, "port").find_first_not_of("0123456789,") == std::string_view::npos &&
         !has_any(value_of(options, "dbname"), "@/");
}

Result<ConnectOptions> parse(const std::string& conninfo) {
  char* message = nullptr;
  ConnectOptions options(PQconninfoParse(conninfo.c_str(), &message));
  const std::unique_ptr<char, decltype(&PQfreemem)> owned(message, PQfreemem);
  // libpq's own message can repeat a password.
  if (!options) return fail(Code::kUsage, "this is no location of a PostgreSQL database");
  if (!is_plausible(options))
    return fail(Code::kUsage,
                "this is no location of a PostgreSQL database: a port is a number, and a host or "
                "a database has no '@' or '/' in its name; percent-encode those of a password "
                "(%40, %2F)");
  return options;
}
// libpq does not tell the state of a refused connection, only the text.
std::string_view refusal_state(std::string_view message) {
  const auto says = [&](std::string_view part) {
    return message.find(part) != std::string_view::npos;
  };
  if (says("authentication failed") || says("no password supplied") || says("pg_hba.conf") ||
      (says("role \"") && says("does not exist")))
    return "28000";
  if (says("database \"") && says("does not exist")) return "3D000";
  return "08001";
}

// How long an answer may take. The server gives up first, if it can.
std::int64_t answer_limit_ms(std::int64_t statement_timeout_ms) {
  constexpr std::int64_t kLongestMs = 3'600'000;
  if (statement_timeout_ms <= 0) return kLongestMs;
  return statement_timeout_ms + std::clamp<std::int64_t>(statement_timeout_ms / 4, 200, 5'000);
}

// What the location asks for, if it asks.
std::int64_t connect_timeout_s(const ConnectOptions& given, int usual_s) {
  const std::string_view text = value_of(given, "connect_timeout");
  std::int64_t seconds = 0;
  std::from_chars(text.data(), text.data() + text.size(), seconds);
  return seconds > 0 ? std::min<std::int64_t>(seconds, 3'600) : usual_s;
}

std::vector<std::string> split_hosts(std::string_view list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    parts.emplace_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// One for each host of the location, in order: libpq would go on to the next by itself only if the
// one before refused, not if it hangs.
std::vector<PgTarget> targets_of(const ConnectOptions& given) {
  constexpr std::string_view kPerHost[] = {"host", "hostaddr", "port"};
  PgTarget common;
  for (const auto* at = given.get(); at->keyword != nullptr; ++at)
    if (at->val != nullptr) common.emplace_back(at->keyword, at->val);
  const auto add_default = [&](const char* keyword, const char* value) {
    if (value_of(given, keyword).empty()) common.emplace_back(keyword, value);
  };
  add_default("application_name", "coffer");
  // A server that is gone without a word is noticed within about half a minute.
  add_default("keepalives_idle", "10");
  add_default("keepalives_interval", "5");
  add_default("keepalives_count", "4");
  add_default("tcp_user_timeout", "30000");
  common.emplace_back("client_encoding", "UTF8");

  std::size_t hosts = 1;
  for (const std::string_view keyword : {"host", "hostaddr"})
    hosts = std::max(hosts, split_hosts(value_of(given, keyword)).size());
  std::vector<PgTarget> targets;
  for (std::size_t i = 0; i < hosts; ++i) {
    PgTarget& target = targets.emplace_back(common);
    for (auto& [keyword, value] : target) {
      if (std::ranges::find(kPerHost, keyword) == std::end(kPerHost)) continue;
      const std::vector<std::string> each = split_hosts(value);
      if (each.size() == hosts) value = each[i];
    }
  }
  return targets;
}

void log_notice(void*, const char* message) {
  log::debug("postgres says", {{"message", one_line(message)}});
}

}  // namespace

Result<std::string> postgres_name(const std::string& conninfo) {
  const ConnectOptions options = TRY(parse(conninfo));
  const std::string_view user = value_of(options, "user"), host = value_of(options, "host"),
                         port = value_of(options, "port");
  return fmt::format("postgres://{}{}{}{}{}/{}", user, user.empty() ? "" : "@", host,
                     port.empty() ? "" : ":", port, value_of(options, "dbname"));
}

Result<std::string> postgres_tool_flags(const std::string& conninfo) {
  const ConnectOptions options = TRY(parse(conninfo));
  constexpr std::pair<std::string_view, std::string_view> kFlags[] = {
      {"host", "--host="}, {"port", "--port="}, {"user", "--username="}, {"dbname", "--dbname="}};
  std::string text;
  for (const auto& [keyword, flag] : kFlags)
    if (const std::string_view value = value_of(options, keyword); !value.empty())
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", flag, shell_word(value));
  return text;
}

Result<> PostgresDriver::open(const Location& location) {
  const ConnectOptions given = TRY(parse(location.target));
  name_ = location.name;
  limit_ms_ = 1'000 * connect_timeout_s(given, options_.connect_timeout_s);
  Result<> connected;
  for (const PgTarget& target : targets_of(given)) {
    connected = connect(target);
    // A refusal is an answer, and another host would give the same; so would a stop.
    if (connected || connected.error().code != Code::kUnavailable) break;
  }
  TRY(connected);
  TRY(set_up_session(options_.pooling != Pooling::kDetect ? options_.pooling : location.pooling));
  limit_ms_ = answer_limit_ms(options_.statement_timeout_ms);
  return {};
}

Result<> PostgresDriver::connect(const PgTarget& target) {
  std::vector<const char*> keywords, values;
  for (const auto& [keyword, value] : target) {
    keywords.push_back(keyword.c_str());
    values.push_back(value.c_str());
  }
  keywords.push_back(nullptr);
  values.push_back(nullptr);
  PQfinish(std::exchange(connection_, PQconnectStartParams(keywords.data(), values.data(), 0)));
  if (connection_ == nullptr) return fail(Code::kUnavailable, "postgres: not enough memory");
  PQsetNoticeProcessor(connection_, log_notice, nullptr);
  const std::int64_t end_ms = system_clock().steady_ms() + limit_ms_;
  // What libpq has begun before it says for what it waits, it goes on with when it can write.
  auto wanted = PGRES_POLLING_WRITING;
  if (PQstatus(connection_) == CONNECTION_BAD) wanted = PGRES_POLLING_FAILED;
  while (wanted == PGRES_POLLING_READING || wanted == PGRES_POLLING_WRITING) {
    pollfd socket{PQsocket(connection_),
                  static_cast<short>(wanted == PGRES_POLLING_READING ? POLLIN : POLLOUT), 0};
    const std::int64_t left_ms = std::max<std::int64_t>(0, end_ms - system_clock().steady_ms());
    if (const WaitEnd end = sql::wait_for(socket, left_ms, options_.stop); end != WaitEnd::kReady) {
      abandon(end, "");
      return failed(postgres_failure("08001", std::exchange(unanswered_, {}), ""));
    }
    wanted = PQconnectPoll(connection_);
  }
  if (wanted == PGRES_POLLING_FAILED) {
    const std::string_view message = PQerrorMessage(connection_);
    return failed(postgres_failure(refusal_state(message), message, ""));
  }
  lost_ = false;
  if (PQsetnonblocking(connection_, 1) == 0) return {};
  TRY(check(nullptr, ""));
  return {};
}

Result<> PostgresDriver::set_up_session(Pooling pooling) {
  const auto run = [this](const std::string& sql) { return run_text(sql, sql); };
  const PgResult facts =
      TRY(run("SELECT pg_backend_pid(), current_setting('synchronous_commit') IN ('off', 'local', "
              "'remote_write')"));
  // A pooler makes up the process id that it gives to its clients.
  const bool foreign = PQgetvalue(facts.get(), 0, 0) != std::to_string(PQbackendPID(connection_));
  pooled_ = pooling == Pooling::kPooled || (pooling == Pooling::kDetect && foreign);
  raise_durability_ = PQgetvalue(facts.get(), 0, 1)[0] == 't';
  if (pooled_) return {};
  TRY(run(fmt::format("SET lock_timeout={}; SET statement_timeout={}", options_.lock_timeout_ms,
                      options_.statement_timeout_ms)));
  if (raise_durability_) TRY(run("SET synchronous_commit=on"));
  return {};
}

Result<std::unique_ptr<Driver>> open_postgres(const Location& location,
                                              const DatabaseOptions& options) {
  auto driver = std::make_unique<PostgresDriver>(options);
  TRY(driver->open(location));
  return driver;
}

}  // namespace coffer::sql
