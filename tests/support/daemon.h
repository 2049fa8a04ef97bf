// For tests: the real program as a daemon, `coffer serve`, on a port of its own.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <boost/json.hpp>
#include <optional>

#include <coffer/base/clock.h>
#include "http/client.h"
#include "support/process.h"

namespace coffer::test {

class Daemon {
 public:
  // Starts it and waits until it serves.
  explicit Daemon(std::string data, std::vector<std::string> arguments) : data_(std::move(data)) {
    std::vector<std::string> command = {coffer(), "serve",    "--json",     "--data",
                                        data_,    "--listen", "127.0.0.1:0"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    process_.emplace(command);
    if (!process_->wait_for_output("\"url\"")) {
      ADD_FAILURE() << "coffer serve did not start: " << process_->err();
      return;
    }
    const std::string out = process_->out();
    url_ = std::string(boost::json::parse(out.substr(0, out.find('\n'))).at("url").as_string());
  }

  Process& process() { return *process_; }
  std::string log() const { return process_->err(); }
  const std::string& url() const { return url_; }

  // Null if it does not answer.
  boost::json::value status() const {
    const auto answer = http::get(url_ + "/api/v1/status");
    return answer ? boost::json::parse(std::string(answer->content())) : boost::json::value();
  }
  // The number of the newest block; nothing before the first, or without an answer.
  std::optional<std::uint64_t> tip() const {
    const boost::json::value now = status();
    if (now.is_null() || now.at("tip").is_null()) return std::nullopt;
    return now.at("tip").at("number").to_number<std::uint64_t>();
  }
  std::string tip_hash() const {
    const boost::json::value now = status();
    if (now.is_null() || now.at("tip").is_null()) return {};
    return now.at("tip").at("hash").as_string().c_str();
  }
  // Whether every consumer has what the chain has.
  bool has_caught_up() const {
    const boost::json::value now = status();
    if (now.is_null()) return false;
    for (const auto& consumer : now.at("consumers").as_array())
      if (consumer.at("state").as_string() != "following" ||
          consumer.at("behind").to_number<std::uint64_t>() != 0)
        return false;
    return true;
  }
  int health(const std::string& which) const {
    const auto answer = http::get(url_ + "/health/" + which);
    return answer ? static_cast<int>(answer->status) : 0;
  }
  std::string ready_body() const {
    const auto answer = http::get(url_ + "/health/ready");
    return answer ? std::string(answer->content()) : std::string();
  }

  // Asks until the condition holds, for as long as it runs and a minute at most.
  template <typename Condition>
  bool eventually(Condition condition, int timeout_ms = 60'000) {
    const std::int64_t end_ms = system_clock().steady_ms() + timeout_ms;
    while (!condition()) {
      if (system_clock().steady_ms() > end_ms || !process_->running()) return false;
      ::usleep(20'000);  // not so busy that the daemon starves
    }
    return true;
  }

  // Asks it to stop; its exit code, or -1 after the time.
  int stop(int timeout_ms = 30'000) {
    process_->kill(SIGTERM);
    const auto end = process_->wait(timeout_ms);
    return end ? end->exit_code : -1;
  }

 private:
  const std::string data_;
  std::optional<Process> process_;
  std::string url_;
};

}  // namespace coffer::test
