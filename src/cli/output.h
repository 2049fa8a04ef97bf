// The end of a command's output: what it printed was really written, and its error is one line.
#pragma once

#include "base/result.h"

namespace coffer::cli {

// Flushes standard output. Errors: kUnavailable if any of it could not be written (a full disk).
Result<> finish_output();

// Prints the error on standard error, in one line whatever was typed or read into it; the exit code
// that belongs to it.
int report_error(const Error& error);

}  // namespace coffer::cli
