// For the tests of api: an event log in memory, a status, a service on any port.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <mutex>

#include "api/service.h"
#include "base/file.h"
#include "base/result.h"
#include "base/temp_dir.h"
#include "http/client.h"
#include "http/test_util.h"

namespace coffer::api {

// Keeps the last `keep` events.
class MemoryEvents final : public chainstate::EventReader {
 public:
  explicit MemoryEvents(std::size_t keep = 10'000) : keep_(keep) {}

  void append(std::string type, std::string data) {
    std::lock_guard lock(mutex_);
    events_.push_back({++last_, std::move(type), std::move(data)});
    if (events_.size() > keep_) events_.pop_front();
    if (wake_) wake_();
  }
  void append_blocks(int count) {
    for (int i = 0; i < count; ++i) append("block", fmt::format(R"({{"number":{}}})", last_ + 1));
  }
  void fail_reads(bool fails) {
    std::lock_guard lock(mutex_);
    fails_ = fails;
  }

  Range range() const override {
    std::lock_guard lock(mutex_);
    return {last_ + 1 - events_.size(), last_};
  }
  Result<std::vector<chainstate::LoggedEvent>> read(std::uint64_t after,
                                                    std::size_t limit) const override {
    std::lock_guard lock(mutex_);
    if (fails_) return fail(Code::kUnavailable, "no disk");
    std::vector<chainstate::LoggedEvent> found;
    for (const auto& event : events_)
      if (event.id > after && found.size() < limit) found.push_back(event);
    return found;
  }
  void on_append(std::function<void()> wake) override {
    std::lock_guard lock(mutex_);
    wake_ = std::move(wake);
  }

 private:
  const std::size_t keep_;
  mutable std::mutex mutex_;
  std::deque<chainstate::LoggedEvent> events_;
  std::uint64_t last_ = 0;
  bool fails_ = false;
  std::function<void()> wake_;
};

inline Status sample_status() {
  Status status;
  status.version = "1.2.3";
  status.chain = "bitcoin";
  status.network = "devnet";
  status.data_dir = "/data";
  status.source = "devnet";
  status.source_state = "following";
  status.started_unix_ms = 1'700'000'000'000;
  status.uptime_ms = 5'000;
  status.tip = TipStatus{17, 16, 16, std::string(64, 'a'), 1'700'000'004};
  status.source_tip_number = 18;
  status.behind = 2;
  status.rollback_window = 288;
  status.ready = true;
  status.consumers = {{"utxo", "following", status.tip, 0, "", ""},
                      {"txstore", "behind", {}, 17, "", ""}};
  status.totals = {17, 40, 1, 80, 120, 18'446'744'073'709'551'615u, 3, std::string(64, 'd')};
  status.modules = {{"utxo", R"({"unspent":41,"addresses":7})"}, {"txstore", std::nullopt}};
  return status;
}

// A running service over a data directory of its own; everything can be changed before start().
struct Fixture {
  TempDir dir;
  MemoryEvents events;
  Metrics metrics;
  ManualClock clock{1'700'000'000'000};
  std::mutex mutex;
  Status status = sample_status();  // under mutex
  ServiceOptions options;
  std::unique_ptr<Service> service;

  explicit Fixture(std::size_t keep = 10'000) : events(keep) {
    options.data_dir = dir.path();
    options.module_schemas = {{"utxo", R"({"type":"object"})"},
                              {"txstore", R"({"type":"object"})"}};
    options.http.listen = "127.0.0.1:0";
    options.readiness_age = std::chrono::milliseconds(5);
    options.events = &events;
    options.status = [this] {
      std::lock_guard lock(mutex);
      return status;
    };
  }
  Fixture& start() {
    auto started = Service::start(options, metrics, clock);
    if (started)
      service = std::move(*started);
    else
      ADD_FAILURE() << started.error().message;
    return *this;
  }
  std::string file(std::string_view name) const {
    auto data = read_file(dir.path() / name, 1u << 20);
    return data ? std::string(as_text(*data)) : "";
  }
  std::string token(std::string_view name = "token") const {
    std::string text = file(name);
    return text.substr(0, text.find('\n'));
  }
  http::Response call(http::Method method, std::string_view path, http::Fields headers = {}) const {
    http::ClientOptions client;
    client.headers = std::move(headers);
    auto response = http::request(method, service->url() + std::string(path), client);
    if (!response) ADD_FAILURE() << response.error().message;
    return response ? std::move(*response) : http::Response{};
  }
  http::Response get(std::string_view path, http::Fields headers = {}) const {
    return call(http::Method::kGet, path, std::move(headers));
  }
};

inline http::Fields bearer(const std::string& token) {
  return {{"Authorization", "Bearer " + token}};
}

}  // namespace coffer::api
