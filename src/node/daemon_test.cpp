#include "node/daemon.h"

#include <gtest/gtest.h>

namespace coffer::node {
namespace {

// What a command ends with is what the daemon's table made of its error.
TEST(DaemonProblems, EveryCodeComesBack) {
  for (int at = 0; at <= static_cast<int>(Code::kCancelled); ++at) {
    Error error = make_error(static_cast<Code>(at), "no such thing");
    error.reason = "finer";
    const Error back = read_problem(http::problem(error));
    EXPECT_EQ(back.code, error.code) << info(error.code).name;
    EXPECT_EQ(back.message, "no such thing");
    EXPECT_EQ(back.reason, "finer");
  }
}

TEST(DaemonProblems, ServersOwnAnswersBecomeErrors) {
  EXPECT_EQ(read_problem(http::problem(429, "too_many_failures", "wait")).code, Code::kUnavailable);
  EXPECT_EQ(read_problem(http::problem(405, "method_not_allowed", "GET")).code,
            Code::kInvalidInput);
  const Error odd = read_problem(http::text_response("oops", 502));
  EXPECT_EQ(odd.code, Code::kUnavailable);
  EXPECT_NE(odd.message.find("502"), std::string::npos);
}

}  // namespace
}  // namespace coffer::node
