// A small blocking HTTP client: `coffer status` talks to its daemon, a feed to its node, tests to
// the server.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "http/message.h"

namespace coffer::http {

struct ClientOptions {
  std::chrono::milliseconds timeout{5'000};  // for the whole exchange, once the name is resolved
  Fields headers;
  std::string body;
  std::filesystem::path ca_file;  // PEM; empty takes the system's. Only for https
  // Connect to this Unix socket, whatever host the URL names: see connect_local().
  std::filesystem::path local_socket;
  std::size_t max_body_bytes = 16u << 20;
};

// One request on a connection of its own; redirects are not followed. Any status is a value.
// Errors: kInvalidInput (URL), kUnavailable (refused, no such host, TLS, cut in the middle),
// kTimeout, kTooLarge, kCorrupt (the answer is not HTTP), kNotFound (ca_file; nobody listens on
// local_socket), kForbidden (somebody else does). Thread-safe.
Result<Response> request(Method method, std::string_view url, const ClientOptions& options = {});

inline Result<Response> get(std::string_view url, const ClientOptions& options = {}) {
  return request(Method::kGet, url, options);
}

// A connection to one server that stays open between requests, for clients that ask a lot.
// Not thread-safe, but for cancel(): one thread, one connection.
class ClientConnection {
 public:
  // Connects at the first request. The options hold for every request, but for their body.
  // Errors: kInvalidInput (URL).
  static Result<ClientConnection> to(std::string_view url, ClientOptions options = {});
  ClientConnection(ClientConnection&&) noexcept;
  ClientConnection& operator=(ClientConnection&&) noexcept;
  ~ClientConnection();

  // Sends `body` to the URL's own target. A connection that the server closed while it was idle is
  // opened anew once, before anything was answered; any other failure closes it. Errors: as
  // request(); kCancelled after cancel().
  Result<Response> post(std::string body);
  // The same for another target of that server, e.g. "/path?query". Also kInvalidInput (target).
  Result<Response> get(std::string_view target);
  void set_headers(Fields headers);

  // Ends the request under way and every later one, at once; only the look-up of a host's name is
  // waited for. Thread-safe, but not beside a move or the destructor.
  void cancel();

 private:
  struct Impl;
  explicit ClientConnection(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::http
