#include "base/terminate.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>
#include <system_error>

#include <coffer/base/error.h>

namespace coffer {
namespace {

// Nothing here allocates: there may be no memory.
[[noreturn]] void end(const char* what, const char* next, bool is_bug) {
  std::array<char, 512> line{};
  const int size = std::snprintf(line.data(), line.size(), "coffer: %s; %s\n", what, next);
  const auto bytes = std::min(static_cast<std::size_t>(std::max(size, 0)), line.size() - 1);
  (void)!::write(STDERR_FILENO, line.data(), bytes);
  if (is_bug) std::abort();
  ::_exit(info(Code::kUnavailable).exit_code);
}

[[noreturn]] void on_terminate() {
  static std::atomic_flag ending = ATOMIC_FLAG_INIT;
  while (ending.test_and_set()) ::pause();  // another thread ends the process in a moment
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      end("out of memory", "give it more, or lower its caches; nothing is lost", false);
    } catch (const std::system_error& error) {
      if (error.code() == std::errc::resource_unavailable_try_again)
        end("the system gives it no more threads",
            "raise the limits of processes and of memory (ulimit -u, -v); nothing is lost", false);
      end(error.what(), "please report this", true);
    } catch (const std::exception& error) {
      end(error.what(), "please report this", true);
    } catch (...) {
      end("an exception of an unknown kind", "please report this", true);
    }
  }
  // What was thrown cannot be seen while the stack is unwound, as when a thread could not be
  // started and those that were still run: nothing but a lack of memory or threads throws that far.
  if (std::uncaught_exceptions() > 0)
    end("out of memory or threads", "give it more; nothing is lost", false);
  end("terminated", "please report this", true);
}

}  // namespace

void end_in_one_line() {
  std::set_terminate(on_terminate);
}

}  // namespace coffer
