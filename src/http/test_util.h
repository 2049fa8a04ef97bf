// For the tests of http and api: a socket that says exactly what it is told, and servers on any
// port.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/result.h"
#include "http/server.h"
#include "http/url.h"

namespace coffer::http {

// A plain blocking connection to an IPv4 address of this machine. Every wait ends after 10 seconds.
class RawClient {
 public:
  explicit RawClient(const std::string& address, int receive_buffer = 0) {
    auto parsed = parse_host_port(address);
    CHECK(parsed && parsed->port);
    fd_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd_ >= 0);
    if (receive_buffer > 0)
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(*parsed->port);
    CHECK(::inet_pton(AF_INET, parsed->host.c_str(), &to.sin_addr) == 1);
    CHECK(::connect(fd_, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  // False once the server has closed.
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }

  // Reads until `text` has come or the server closes; returns everything so far.
  const std::string& read_until(std::string_view text) {
    std::size_t from = 0;  // what was searched already is not searched again
    while (received_.find(text, from) == std::string::npos) {
      from = received_.size() > text.size() ? received_.size() - text.size() : 0;
      if (!read_some()) break;
    }
    return received_;
  }
  // Reads until the server closes.
  const std::string& read_all() {
    while (read_some()) {
    }
    return received_;
  }
  // What has come so far, without what is dropped now.
  std::string take() { return std::exchange(received_, {}); }
  bool closed_by_server() const { return closed_by_server_; }
  void finish_sending() { ::shutdown(fd_, SHUT_WR); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  bool read_some() {
    pollfd wait{fd_, POLLIN, 0};
    if (::poll(&wait, 1, 10'000) != 1) return false;
    char buffer[16384];
    ssize_t got = ::recv(fd_, buffer, sizeof buffer, 0);
    if (got <= 0) {
      closed_by_server_ = true;
      return false;
    }
    received_.append(buffer, static_cast<std::size_t>(got));
    return true;
  }

  int fd_ = -1;
  std::string received_;
  bool closed_by_server_ = false;
};

// Takes connections and reads what comes, but never answers.
class SilentServer {
 public:
  SilentServer() : listener_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in here{};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof here;
    CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&here), sizeof here) == 0);
    CHECK(::listen(listener_, 16) == 0);
    CHECK(::getsockname(listener_, reinterpret_cast<sockaddr*>(&here), &size) == 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(here.sin_port));
  }
  ~SilentServer() {
    for (int fd : taken_) ::close(fd);
    ::close(listener_);
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;

  const std::string& address() const { return address_; }
  // Waits for another connection and the first bytes of its request; false after 10 seconds.
  bool asked() {
    if (!readable(listener_)) return false;
    taken_.push_back(::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC));
    return taken_.back() >= 0 && readable(taken_.back());
  }

 private:
  static bool readable(int fd) {
    pollfd wait{fd, POLLIN, 0};
    return ::poll(&wait, 1, 10'000) == 1;
  }
  int listener_;
  std::string address_;
  std::vector<int> taken_;
};

inline Options any_port() {
  Options options;
  options.listen = "127.0.0.1:0";
  return options;
}

inline Router echo_router() {
  Router router;
  router.add(Method::kGet, "/hello/{name}", [](const Request& request) {
    return text_response("hello " + std::string(*request.path_param("name")));
  });
  router.add(Method::kPost, "/echo",
             [](const Request& request) { return text_response("body=" + request.body); });
  router.add(Method::kGet, "/query", [](const Request& request) {
    return text_response(std::string(request.query_param("q").value_or("none")) +
                         (request.is_loopback ? " loopback" : " remote"));
  });
  router.add(Method::kGet, "/throws", [](const Request&) -> Response { throw std::bad_alloc(); });
  router.add(Method::kGet, "/page", [](const Request&) {
    Response page;
    page.content_type = "text/html; charset=utf-8";
    page.shared_body = std::make_shared<const std::string>("<p>hi</p>");
    return page;
  });
  return router;
}

inline std::unique_ptr<Server> serve(Options options, Router router = echo_router()) {
  auto server = Server::start(std::move(options), std::move(router));
  if (!server) ADD_FAILURE() << server.error().message;
  return server ? std::move(*server) : nullptr;
}

inline int status_of(std::string_view answer) {
  return answer.size() > 12 ? std::atoi(std::string(answer.substr(9, 3)).c_str()) : 0;
}

inline std::string get_request(std::string_view target, std::string_view more_headers = {}) {
  return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n{}\r\n", target, more_headers);
}

inline std::size_t count(std::string_view text, std::string_view what) {
  std::size_t found = 0;
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

// Waits for a condition that another thread brings about; false after 10 seconds.
template <typename Condition>
bool eventually(Condition condition) {
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    ::usleep(1000);
  }
  return true;
}

}  // namespace coffer::http
