// Error values: a stable code, one line of context, and whether trying again may help.
// Invariant: a code's name, HTTP status and exit code stand in one table (error.cpp) and nowhere
// else.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace coffer {

enum class Code : std::uint8_t {
  kInternal,      // a bug of ours
  kUsage,         // the command line or configuration is wrong
  kInvalidInput,  // the data given is malformed
  kNotFound,
  kConflict,      // the same id with other content, or a state that forbids the operation
  kBeyondWindow,  // a rollback deeper than what can be undone (U2)
  kUnavailable,   // something needed is not there now: a source, a disk, a port, a lock
  kCorrupt,       // stored data fails its own checks
  kTooLarge,      // a bound was exceeded
  kUnauthorized,  // no credential, or a wrong one
  kForbidden,     // a credential without the right scope, or a foreign Host
  kTimeout,
  kCancelled,  // asked to stop
};

struct CodeInfo {
  std::string_view name;  // stable; appears in JSON and logs
  int http_status;
  int exit_code;
  bool retryable;  // the default for new errors of this code
};

// Thread-safe, never fails.
const CodeInfo& info(Code code);

struct Error {
  Code code = Code::kInternal;
  bool retryable = false;
  std::string message;  // one line; says what to do next where a person can do something
  // A finer stable word or code below `code` that an engine or a database gave, such as
  // "insufficient_balance", "unique" or "TK009"; empty if there is none.
  std::string reason = {};

  // The same error with "context: " before its message.
  Error in(std::string_view context) && {
    message.insert(0, std::string(context) + ": ");
    return std::move(*this);
  }
};

Error make_error(Code code, std::string message);

// "cannot open DIR: no space left on device …" from an errno value, with the code that fits it.
Error errno_error(int error_number, std::string_view what);

}  // namespace coffer
