// What strangers cost: idle connections, bodies of requests that nobody may send, and requests
// whose end is said in two ways.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>

#include "base/result.h"
#include "http/admission.h"
#include "http/client.h"
#include "http/peer_group.h"
#include "http/server.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

std::vector<std::unique_ptr<RawClient>> idle_clients(const Server& server, std::size_t count) {
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(count);
  for (std::size_t i = 0; i < count; ++i)
    clients.push_back(std::make_unique<RawClient>(server.address()));
  return clients;
}

Router with_health() {
  Router router = echo_router();
  router.add(Method::kGet, "/health", [](const Request&) { return text_response("live"); },
             {.on_io_thread = true});
  return router;
}

TEST(Strangers, IdleConnectionsMakeRoom) {
  Options options = any_port();
  options.limits.loopback_connections = 50;
  const auto server = serve(std::move(options));
  const auto idle = idle_clients(*server, 300);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(get(server->url() + "/hello/me")->status, 200);
  EXPECT_TRUE(eventually([&] { return server->counts().connections <= 50; }));
  EXPECT_EQ(idle.front()->read_all(), "");  // the first came first
  EXPECT_TRUE(idle.front()->closed_by_server());
  idle.back()->send(get_request("/hello/last"));
  EXPECT_EQ(status_of(idle.back()->read_until("hello last")), 200);
}

TEST(Strangers, TotalIsKeptTooAndTheOldestOfAllGoes) {
  Options options = any_port();
  options.limits.connections = 10;
  const auto server = serve(std::move(options));
  const auto idle = idle_clients(*server, 100);
  EXPECT_EQ(get(server->url() + "/hello/me")->status, 200);
  EXPECT_TRUE(eventually([&] { return server->counts().connections <= 10; }));
}

// Every place is taken by a request that goes on: a probe of health gets in all the same.
TEST(Strangers, HealthGetsInWhenEveryPlaceIsBusy) {
  Options options = any_port();
  options.limits.connections = 4;
  std::atomic<int> running = 0;
  std::latch go(1);
  Router router = with_health();
  router.add(Method::kGet, "/wait", [&](const Request&) {
    ++running;
    go.wait();
    return text_response("done");
  });
  const auto server = serve(std::move(options), std::move(router));
  auto busy = idle_clients(*server, 4);
  for (auto& client : busy) client->send(get_request("/wait"));
  EXPECT_TRUE(eventually([&] { return running == 4; }));
  EXPECT_EQ(get(server->url() + "/hello/me")->status, 503);
  for (int i = 0; i < 40; ++i) {
    const auto health = get(server->url() + "/health");
    EXPECT_TRUE(health && health->body == "live") << (health ? health->body : "no answer");
    if (!health) break;
  }
  // A reserved place is for one short request, not for waiting.
  RawClient waits(server->address());
  EXPECT_EQ(waits.read_all(), "");
  EXPECT_TRUE(waits.closed_by_server());
  go.count_down();
  for (auto& client : busy) EXPECT_EQ(status_of(client->read_until("done")), 200);
}

TEST(Strangers, PeersAreCountedByWhatOneHolderHas) {
  EXPECT_EQ(peer_group("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(peer_group("::ffff:192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(peer_group("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(peer_group("2001:db8:1:2:ffff::1"), "2001:db8:1:2::/64");
  EXPECT_NE(peer_group("2001:db8:1:3::1"), peer_group("2001:db8:1:2::1"));
  EXPECT_EQ(peer_group("fe80::1%eth0"), "fe80::/64");
  for (const char* own : {"127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.9"})
    EXPECT_EQ(peer_group(own), kLoopbackGroup) << own;
  for (const char* none : {"", "localhost", "1.2.3", "1.2.3.4.5", "::1::"})
    EXPECT_EQ(peer_group(none), std::nullopt) << none;
}

// Refuses whoever has no token, and counts what its handler saw.
struct Guarded {
  std::atomic<int> handled = 0;
  std::unique_ptr<Server> server;

  Guarded() {
    Options options = any_port();
    options.authorize = [](const Request& request, const RouteInfo&) -> std::optional<Response> {
      if (request.header("Authorization") == "Bearer right") return std::nullopt;
      return problem(401, "unauthorized", "no");
    };
    Router router;
    router.add(Method::kPost, "/write", [this](const Request& request) {
      ++handled;
      return text_response(fmt::format("size={}", request.body.size()));
    });
    server = serve(std::move(options), std::move(router));
  }
};

TEST(Strangers, UnauthorisedBodiesAreNeverRead) {
  Guarded f;
  const std::string head = "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n";
  std::vector<std::unique_ptr<RawClient>> clients = idle_clients(*f.server, 200);
  for (auto& client : clients) client->send(head + "\r\n" + std::string(1000, 'x'));
  for (auto& client : clients) {
    EXPECT_EQ(status_of(client->read_all()), 401);  // before the body came
    EXPECT_EQ(f.server->counts().body_bytes, 0u);
  }
  RawClient careful(f.server->address());
  careful.send(head + "Expect: 100-continue\r\n\r\n");
  const std::string answer = careful.read_all();
  EXPECT_EQ(status_of(answer), 401);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  EXPECT_EQ(count(answer, "100 Continue"), 0u);
  EXPECT_EQ(f.handled, 0);
  RawClient allowed(f.server->address());
  allowed.send(head + "Expect: 100-continue\r\nAuthorization: Bearer right\r\n\r\n");
  EXPECT_EQ(status_of(allowed.read_until("\r\n\r\n")), 100);
  EXPECT_EQ(f.server->counts().body_bytes, 1'000'000u);
  allowed.send(std::string(1'000'000, 'x'));
  allowed.read_until("size=1000000");
  EXPECT_TRUE(eventually([&] { return f.server->counts().body_bytes == 0; }));
}

// What looks like a request within the body of a refused one is none.
TEST(Strangers, BodyOfARefusedRequestIsNoRequest) {
  Guarded f;
  RawClient client(f.server->address());
  const std::string hidden =
      "POST /write HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer right\r\n"
      "Content-Length: 0\r\n\r\n";
  client.send(fmt::format("POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                          hidden.size(), hidden));
  EXPECT_EQ(count(client.read_all(), "HTTP/1.1 "), 1u);
  EXPECT_EQ(f.handled, 0);
}

TEST(Framing, OneWayToReadALength) {
  const auto status = [](unsigned version, const Fields& headers) {
    const auto refused = check_framing(version, headers);
    return refused ? refused->status : 200;
  };
  EXPECT_EQ(status(11, {}), 200);
  EXPECT_EQ(status(11, {{"Content-Length", "3"}}), 200);
  EXPECT_EQ(status(11, {{"transfer-encoding", "chunked"}}), 200);
  EXPECT_EQ(status(11, {{"Transfer-Encoding", "Chunked"}}), 200);
  EXPECT_EQ(status(10, {{"Content-Length", "3"}}), 200);
  EXPECT_EQ(status(10, {{"Transfer-Encoding", "chunked"}}), 400);
  for (const char* coding : {"gzip", "gzip, chunked", "chunked, gzip", "chunked, chunked",
                             "identity", "", "xchunked", "chunked;q=1", "\"chunked\""})
    EXPECT_EQ(status(11, {{"Transfer-Encoding", coding}}), 501) << coding;
  EXPECT_EQ(status(11, {{"Transfer-Encoding", "chunked"}, {"Content-Length", "3"}}), 400);
  EXPECT_EQ(status(11, {{"Transfer-Encoding", "chunked"}, {"Transfer-Encoding", "chunked"}}), 400);
  EXPECT_EQ(status(11, {{"Content-Length", "3"}, {"Content-Length", "3"}}), 400);
}

TEST(Framing, OtherCodingsAreRefusedOnTheWire) {
  const auto server = serve(any_port());
  const auto answers = [&](std::string_view version, std::string_view headers) {
    RawClient client(server->address());
    client.send(fmt::format("POST /echo {}\r\nHost: localhost\r\n{}\r\n5\r\nhello\r\n0\r\n\r\n",
                            version, headers));
    client.finish_sending();
    return client.read_all();
  };
  EXPECT_NE(
      answers("HTTP/1.1", "Transfer-Encoding: chunked\r\nConnection: close\r\n").find("body=hello"),
      std::string::npos);
  for (const char* coding : {"gzip", "gzip, chunked", "identity", "chunked, identity"}) {
    const std::string answer =
        answers("HTTP/1.1", fmt::format("Transfer-Encoding: {}\r\n", coding));
    EXPECT_TRUE(status_of(answer) == 501 || status_of(answer) == 400) << coding << answer;
    EXPECT_EQ(count(answer, "HTTP/1.1 "), 1u) << coding;  // the body became no request
  }
  EXPECT_EQ(status_of(answers("HTTP/1.0", "Transfer-Encoding: chunked\r\n")), 400);
  EXPECT_EQ(status_of(answers("HTTP/1.1", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n")),
            400);
}

TEST(Framing, TrailersAreNoHeaders) {
  Options options = any_port();
  Router router;
  router.add(Method::kPost, "/headers", [](const Request& request) {
    return text_response(request.header("Authorization").has_value() ? "has it" : "has none");
  });
  const auto server = serve(std::move(options), std::move(router));
  RawClient client(server->address());
  client.send(
      "POST /headers HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
      "Transfer-Encoding: chunked\r\nTrailer: Authorization\r\n\r\n"
      "1\r\nx\r\n0\r\nAuthorization: Bearer right\r\n\r\n");
  EXPECT_NE(client.read_all().find("has none"), std::string::npos);
}

}  // namespace
}  // namespace coffer::http
