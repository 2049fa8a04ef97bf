// For tests: an OpenID Connect provider on a real socket that answers as it is told, also wrong,
// late or not at all, and counts what it is asked.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/check.h"
#include "http/server.h"
#include "oidc/test_keys.h"
#include "oidc/verifier.h"

namespace coffer::oidc {

class TestProvider {
 public:
  TestProvider() { start(); }
  ~TestProvider() { stop(); }
  TestProvider(const TestProvider&) = delete;
  TestProvider& operator=(const TestProvider&) = delete;

  const std::string& issuer() const { return issuer_; }

  // Serves again on the same port.
  void start() {
    http::Options options;
    options.listen = listen_;
    options.limits.workers = 2;
    options.tls = tls_;
    http::Router router;
    router.add(http::Method::kGet, "/.well-known/openid-configuration",
               [this](const http::Request&) { return answer(documents_, document_); });
    router.add(http::Method::kGet, "/keys",
               [this](const http::Request&) { return answer(key_sets_, keys_); });
    auto started = http::Server::start(std::move(options), std::move(router));
    CHECK(started.has_value());
    server_ = *std::move(started);
    if (listen_ == "127.0.0.1:0") {
      listen_ = server_->address();
      issuer_ = server_->url();
      set_document(document());
    }
  }
  void stop() {
    release();
    server_.reset();
  }
  // The same with TLS, on another port.
  void restart_with_tls(http::TlsFiles files) {
    stop();
    tls_ = std::move(files);
    listen_ = "127.0.0.1:0";
    start();
  }

  // The discovery document with the address of the key set, or as a test says.
  std::string document() const { return document(issuer_, issuer_ + "/keys"); }
  static std::string document(const std::string& issuer, const std::string& keys_url) {
    return fmt::format(R"({{"issuer":"{}","jwks_uri":"{}"}})", issuer, keys_url);
  }
  void set_document(std::string text) { set(document_, std::move(text)); }
  void set_keys(std::string text) { set(keys_, std::move(text)); }
  void list_keys(const std::vector<const SigningKey*>& keys) {
    std::vector<std::string> texts;
    texts.reserve(keys.size());
    for (const SigningKey* key : keys) texts.push_back(key->jwk());
    set_keys(key_set_of(texts));
  }
  void set_status(int status) { status_ = status; }

  // Requests for the key set wait until release(), at most 20 seconds.
  void hold() { held_ = true; }
  void release() { held_ = false; }

  int documents() const { return documents_; }
  int key_sets() const { return key_sets_; }

 private:
  void set(std::string& what, std::string text) {
    const std::lock_guard lock(mutex_);
    what = std::move(text);
  }

  http::Response answer(std::atomic<int>& count, const std::string& text) {
    ++count;
    for (int i = 0; held_ && &count == &key_sets_ && i < 20'000; ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // this is the delay under test
    const std::lock_guard lock(mutex_);
    http::Response response = http::json_response(text, status_);
    if (status_ == 302) response.headers.push_back({"Location", issuer_ + "/keys"});
    return response;
  }

  std::string listen_ = "127.0.0.1:0";
  std::string issuer_;
  std::optional<http::TlsFiles> tls_;
  std::atomic<int> status_ = 200;
  std::atomic<bool> held_ = false;
  std::atomic<int> documents_ = 0;
  std::atomic<int> key_sets_ = 0;
  std::mutex mutex_;  // guards what follows
  std::string document_, keys_;
  std::unique_ptr<http::Server> server_;
};

}  // namespace coffer::oidc
