// Connecting to PostgreSQL, directly or through a pooler.
#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

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
  const std::string timeout_s = std::to_string(options_.connect_timeout_s);
  std::vector<const char*> keywords, values;
  const auto add = [&](const char* keyword, const char* value) {
    keywords.push_back(keyword);
    values.push_back(value);
  };
  for (const auto* at = given.get(); at->keyword != nullptr; ++at)
    if (at->val != nullptr) add(at->keyword, at->val);
  const auto add_default = [&](const char* keyword, const char* value) {
    if (value_of(given, keyword).empty()) add(keyword, value);
  };
  add_default("connect_timeout", timeout_s.c_str());
  add_default("application_name", "coffer");
  // A server that is gone without a word is noticed within about half a minute.
  add_default("keepalives_idle", "10");
  add_default("keepalives_interval", "5");
  add_default("keepalives_count", "4");
  add_default("tcp_user_timeout", "30000");
  add("client_encoding", "UTF8");
  add(nullptr, nullptr);
  connection_ = PQconnectdbParams(keywords.data(), values.data(), 0);
  if (connection_ == nullptr) return fail(Code::kUnavailable, "postgres: not enough memory");
  PQsetNoticeProcessor(connection_, log_notice, nullptr);
  if (PQstatus(connection_) != CONNECTION_OK) {
    const std::string_view message = PQerrorMessage(connection_);
    return failed(postgres_failure(refusal_state(message), message, ""));
  }
  return set_up_session(options_.pooling != Pooling::kDetect ? options_.pooling : location.pooling);
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
