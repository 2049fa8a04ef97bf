// Any bytes as what a client sends to a server on loopback: what is answered is HTTP, nothing is
// handled that was not allowed, and the next client is served.
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "base/check.h"
#include "http/server.h"
#include "http/url.h"

namespace {

using namespace coffer;

http::Response size_of_body(const http::Request& request) {
  // Trailers and bodies become no headers.
  CHECK(request.header("Host").value_or("localhost").find('\n') == std::string_view::npos);
  CHECK(request.body.size() <= 4'096);
  return http::text_response(fmt::format("size={}", request.body.size()));
}

http::Router routes() {
  http::Router router;
  router.add(http::Method::kGet, "/health", [](const auto&) { return http::text_response("live"); },
             {.on_io_thread = true});
  router.add(http::Method::kGet, "/read/{name}", size_of_body);
  router.add(http::Method::kPost, "/write", [](const http::Request& request) {
    CHECK(request.header("Authorization") == "Bearer right");
    return size_of_body(request);
  });
  return router;
}

const http::Server& server() {
  static const auto running = [] {
    http::Options options;
    options.listen = "127.0.0.1:0";
    options.limits.body_bytes = 4'096;
    options.limits.request_time = std::chrono::milliseconds(1'000);
    options.authorize = [](const http::Request& request,
                           const http::RouteInfo& route) -> std::optional<http::Response> {
      CHECK(request.body.empty());
      if (route.pattern != "/write" || request.header("Authorization") == "Bearer right")
        return std::nullopt;
      return http::problem(401, "unauthorized", "no");
    };
    options.after = [](const auto&, const auto*, const http::Finished& finished) {
      CHECK(finished.status != 500);
    };
    return std::move(http::Server::start(std::move(options), routes()).value());
  }();
  return *running;
}

// What the server answers until it closes.
std::string exchange(std::string_view bytes) {
  static const std::uint16_t port = *http::parse_host_port(server().address())->port;
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  CHECK(fd >= 0);
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  CHECK(::connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0);
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  ::shutdown(fd, SHUT_WR);
  std::string answer;
  char buffer[16'384];
  for (;;) {
    pollfd wait{fd, POLLIN, 0};
    CHECK(::poll(&wait, 1, 10'000) == 1);  // it always answers or closes
    const ssize_t got = ::recv(fd, buffer, sizeof buffer, 0);
    if (got <= 0) break;
    answer.append(buffer, static_cast<std::size_t>(got));
  }
  // Closed at once, so that millions of these leave no ports behind.
  const linger at_once{1, 0};
  ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  ::close(fd);
  return answer;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static std::size_t runs = 0;
  const std::string answer = exchange({reinterpret_cast<const char*>(data), size});
  CHECK(answer.empty() || answer.starts_with("HTTP/1.1 "));
  if (++runs % 64 == 0) {
    const std::string live = exchange("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n");
    CHECK(live.starts_with("HTTP/1.1 200") && live.ends_with("live"));
  }
  return 0;
}
