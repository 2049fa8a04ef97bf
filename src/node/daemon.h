// The process that serves a data directory, asked over HTTP by the commands beside it.
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

// Its answer, whatever the status; nothing if no process serves this directory. Uses the token of
// the directory. Errors: kTimeout and others of http::request when it runs but does not answer.
Result<std::optional<http::Response>> ask_daemon(const config::Config& config,
                                                 const DaemonRequest& request);

}  // namespace coffer::node
