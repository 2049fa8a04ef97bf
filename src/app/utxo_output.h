// What the utxo commands share: errors of what was typed, and output that was really written.
#pragma once

#include <cstdio>
#include <string>

#include "base/result.h"
#include "cli/output.h"

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

using cli::finish_output;

}  // namespace coffer::app
