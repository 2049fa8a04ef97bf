#include <coffer/base/error.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "base/check.h"
#include "base/result.h"

namespace coffer {
namespace {

constexpr CodeInfo kTable[] = {
    {"internal", 500, 1, false},     {"usage", 400, 2, false},     {"invalid_input", 400, 1, false},
    {"not_found", 404, 1, false},    {"conflict", 409, 1, false},  {"beyond_window", 409, 1, false},
    {"unavailable", 503, 3, true},   {"corrupt", 500, 3, false},   {"too_large", 413, 1, false},
    {"unauthorized", 401, 1, false}, {"forbidden", 403, 1, false}, {"timeout", 504, 3, true},
    {"cancelled", 503, 3, true},
};

}  // namespace

const CodeInfo& info(Code code) {
  auto at = static_cast<std::size_t>(code);
  CHECK(at < std::size(kTable));
  return kTable[at];
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
