#include <coffer/base/error.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "base/error_table.h"
#include "base/result.h"

namespace coffer {
namespace {

struct Row {
  CodeInfo info;
  const char* meaning;
};
constexpr Row kTable[] = {
    {{"internal", 500, 1, false}, "a bug in Coffer: please report it with the log"},
    {{"usage", 400, 2, false}, "the command line or the configuration is wrong"},
    {{"invalid_input", 400, 1, false}, "the data are malformed"},
    {{"not_found", 404, 1, false}, "no such object"},
    {{"conflict", 409, 1, false},
     "the same id with other content, or a state that forbids the operation"},
    {{"beyond_window", 409, 1, false}, "a rollback deeper than what can be undone"},
    {{"unavailable", 503, 3, true},
     "something needed is not there now: a source, a database, a disk, a port, a lock"},
    {{"corrupt", 500, 3, false}, "stored data fail their own checks: restore a backup or rebuild"},
    {{"too_large", 413, 1, false}, "a limit of size was exceeded"},
    {{"unauthorized", 401, 1, false}, "no token, or a wrong one"},
    {{"forbidden", 403, 1, false},
     "a token without the right scope, or a foreign `Host` or `Origin`"},
    {{"timeout", 504, 3, true}, "it took too long"},
    {{"cancelled", 503, 3, true}, "stopped before the end"},
};
static_assert(std::size(kTable) == static_cast<std::size_t>(Code::kCancelled) + 1);

}  // namespace

const CodeInfo& info(Code code) {
  auto at = static_cast<std::size_t>(code);
  CHECK(at < std::size(kTable));
  return kTable[at].info;
}

std::optional<Code> code_named(std::string_view name) {
  for (std::size_t at = 0; at < std::size(kTable); ++at)
    if (kTable[at].info.name == name) return static_cast<Code>(at);
  return std::nullopt;
}

std::string errors_markdown() {
  std::string table =
      "| code | HTTP status | exit code | retry | meaning |\n|---|---|---|---|---|\n";
  for (const auto& [code, meaning] : kTable)
    table += fmt::format("| `{}` | {} | {} | {} | {} |\n", code.name, code.http_status,
                         code.exit_code, code.retryable ? "yes" : "no", meaning);
  return table;
}

Error make_error(Code code, std::string message) {
  return Error{code, info(code).retryable, std::move(message)};
}

Error errno_error(int error_number, std::string_view what) {
  const char* next = "";
  Code code = Code::kUnavailable;
  switch (error_number) {
    case ENOENT:
      code = Code::kNotFound;
      next = "; check the path";
      break;
    case EACCES:
    case EPERM: next = "; check its owner and mode, or choose another place"; break;
    case ENOSPC: next = "; free some space and start again, nothing is lost"; break;
    case EROFS: next = "; choose a writable place"; break;
    case EADDRINUSE: next = "; stop the other program or choose another port with --listen"; break;
    case EMFILE: next = "; raise the limit of open files (ulimit -n)"; break;
    default: break;
  }
  char buffer[128];
  const char* text = strerror_r(error_number, buffer, sizeof buffer);
  return make_error(code, fmt::format("{}: {}{}", what, text, next));
}

}  // namespace coffer
