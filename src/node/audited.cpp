#include "node/audited.h"

#include <unistd.h>

#include <algorithm>

#include <coffer/base/clock.h>
#include "api/audit.h"
#include "base/printable.h"
#include "base/result.h"
#include "json/writer.h"
#include "node/command.h"

namespace coffer::node {
namespace {

constexpr std::size_t kMaxWords = 20;  // of one argument
constexpr std::size_t kMaxWordBytes = 256;

std::string line_of(const std::vector<std::string>& path, const cli::Invocation& given,
                    const std::vector<std::string>& shown, const Result<>& done) {
  json::Writer out;
  out.begin_object().field("time_unix_ms", system_clock().unix_ms());
  out.field("command", fmt::format("{}", fmt::join(path, " "))).field("user", ::getuid());
  out.field("result", done ? std::string_view("done") : info(done.error().code).name);
  out.key("change").begin_object();
  for (const std::string& name : shown) {
    const auto words = given.values.find(name);
    if (words == given.values.end()) continue;
    out.key(name).begin_array();
    for (std::size_t i = 0; i < std::min(words->second.size(), kMaxWords); ++i)
      out.value(printable(std::string_view(words->second[i]).substr(0, kMaxWordBytes)));
    out.end_array();
  }
  out.end_object().end_object();
  return out.take();
}

Result<> write_line(const config::Config& config, std::string line) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(config.data_dir, ignored)) return {};
  const auto log = TRY(
      api::AuditLog::open(std::filesystem::path(config.data_dir) / api::kAuditFile,
                          {.max_bytes = config.audit.max_mb << 20, .files = config.audit.files}));
  return log->append_line(std::move(line));
}

}  // namespace

cli::Command audited(cli::Command command, const std::vector<std::string>& shown) {
  if (command.is_group()) return command;
  command.run = [run = std::move(command.run), path = command.path,
                 shown](const cli::Invocation& given) -> Result<> {
    auto done = run(given);
    if (!done && done.error().code == Code::kUsage) return done;  // nothing was tried
    const Context context = TRY(make_context(given));
    const auto written = write_line(context.config, line_of(path, given, shown, done));
    if (!written && done)
      return fail(written.error().code, "it is done, but not in the audit log: {}",
                  written.error().message);
    return done;
  };
  return command;
}

std::vector<cli::Command> audited(std::vector<cli::Command> commands,
                                  const std::vector<std::string>& shown) {
  for (cli::Command& command : commands) command = audited(std::move(command), shown);
  return commands;
}

}  // namespace coffer::node
