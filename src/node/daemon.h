// The process that serves a data directory, asked by the commands beside it: HTTP over the Unix
// socket in that directory, and nothing else. A token sent to a port that the process had once
// would reach whoever listens there now.
#pragma once

#include <chrono>

#include "config/config.h"
#include "http/message.h"

namespace coffer::node {

struct DaemonRequest {
  http::Method method = http::Method::kGet;
  std::string target;
  std::string body = {};
  std::chrono::milliseconds timeout{3'000};
};

// Its answer; nothing if no process serves this directory. Uses the token of the directory. Errors:
// what it refuses with, as read_problem() has it; kTimeout and others of http::request when it runs
// but does not answer; kForbidden if the socket is another user's.
Result<std::optional<http::Response>> ask_daemon(const config::Config& config,
                                                 const DaemonRequest& request);

// The error that a refused request was answered with: from the same table that made the answer of
// it, so that a command ends as if it had done the work itself.
Error read_problem(const http::Response& answer);

}  // namespace coffer::node
