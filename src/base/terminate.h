// How the program ends when the system gives it no more memory or threads. Such a failure can come
// at any allocation, on any thread, and no caller could go on: the process ends at once, as a kill
// would end it, which every store survives (E2).
#pragma once

namespace coffer {

// From now on an exception that nobody catches ends the process with one line on standard error:
// with the exit code of Code::kUnavailable when memory or threads ran out, otherwise, as a bug,
// with SIGABRT. Once, in main().
void end_in_one_line();

}  // namespace coffer
