// What the utxo commands share: errors of what was typed, and output that was really written.
#pragma once

#include <cerrno>
#include <cstdio>
#include <string>

#include "base/result.h"

namespace coffer::app {

// What was typed is wrong usage here, not bad data.
template <typename T>
Result<T> typed(Result<T> parsed) {
  if (!parsed && parsed.error().code == Code::kInvalidInput)
    return fail(make_error(Code::kUsage, std::move(parsed.error().message)));
  return parsed;
}

inline void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

inline void print_line(const std::string& text) {
  print(text + "\n");
}

// All was taken by whoever reads it. Errors: kUnavailable (a full disk).
inline Result<> finish_output() {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return {};
  return fail(errno_error(errno, "cannot write the output"));
}

}  // namespace coffer::app
