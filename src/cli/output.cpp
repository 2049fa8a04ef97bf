#include "cli/output.h"

#include <cerrno>
#include <cstdio>

#include "base/result.h"
#include "cli/table.h"

namespace coffer::cli {

Result<> finish_output() {
  errno = 0;
  const bool is_flushed = std::fflush(stdout) == 0;
  if (is_flushed && std::ferror(stdout) == 0) return {};
  // An earlier write failed: its reason is lost, that it failed is not.
  if (errno == 0) return fail(Code::kUnavailable, "cannot write the output; is its disk full?");
  return fail(errno_error(errno, "cannot write the output"));
}

int report_error(const Error& error) {
  // The start says where, the end what to do.
  constexpr std::size_t kStart = 1'000, kEnd = 500;
  std::string message = error.message;
  if (message.size() > kStart + kEnd)
    message = message.substr(0, kStart) + " … " + message.substr(message.size() - kEnd);
  std::fprintf(stderr, "coffer: %s\n", printable(message).c_str());
  return info(error.code).exit_code;
}

void print(std::string_view text) {
  print_data(escape_unprintable(text));
}

void print_data(std::string_view bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
}

void print_line(std::string_view text) {
  print(text);
  std::fputc('\n', stdout);
}

}  // namespace coffer::cli
