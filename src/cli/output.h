// A command's output: what it printed was really written, and its error is one line.
#pragma once

#include <string_view>

#include "base/result.h"

namespace coffer::cli {

// Flushes standard output. Errors: kUnavailable if any of it could not be written (a full disk).
Result<> finish_output();

// Prints the error on standard error, in one line whatever was typed or read into it; the exit code
// that belongs to it.
int report_error(const Error& error);

// To standard output, which may be a terminal: characters that could move its cursor or turn text
// around are escaped as in JSON, which a document does not notice.
void print(std::string_view text);
void print_line(std::string_view text);
// The bytes as they are, for what is data in another format, such as CSV.
void print_data(std::string_view bytes);

// For what was typed: bad input there is wrong usage of the command, not bad data.
template <typename T>
Result<T> as_usage_error(Result<T> parsed) {
  if (!parsed && parsed.error().code == Code::kInvalidInput)
    return fail(make_error(Code::kUsage, std::move(parsed.error().message)));
  return parsed;
}

}  // namespace coffer::cli
