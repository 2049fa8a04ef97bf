#include "base/terminate.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace coffer {
namespace {

template <typename Thrown>
void throw_on_a_thread(Thrown thrown) {
  end_in_one_line();
  std::thread([&] { throw thrown; }).join();
}

// GoogleTest catches what is thrown on its own thread.
TEST(TerminateDeathTest, OutOfMemoryOrThreadsIsOneLineAndAnExitCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(throw_on_a_thread(std::bad_alloc()), testing::ExitedWithCode(3),
              "^coffer: out of memory; [^\n]*\n$");
  EXPECT_EXIT(
      throw_on_a_thread(
          std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again))),
      testing::ExitedWithCode(3), "^coffer: the system gives it no more threads; [^\n]*\n$");
  EXPECT_EXIT(throw_on_a_thread(std::runtime_error("odd")), testing::KilledBySignal(SIGABRT),
              "^coffer: odd; please report this\n$");
}

}  // namespace
}  // namespace coffer
