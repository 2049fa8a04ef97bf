// What a client can cost at most: bytes, time, connections, waiting requests; and garbage.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/random.h"
#include "base/result.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Limits, BoundsHeadersAndBodies) {
  Options options = any_port();
  options.limits.header_bytes = 1000;
  options.limits.body_bytes = 5000;
  auto server = serve(std::move(options));
  RawClient big_header(server->address());
  big_header.send(get_request("/page", "X: " + std::string(5000, 'x') + "\r\n"));
  EXPECT_EQ(status_of(big_header.read_all()), 431);
  RawClient endless_header(server->address());
  while (endless_header.send(std::string(1000, 'a'))) {
  }
  RawClient big_body(server->address());
  big_body.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5001\r\n\r\n");
  EXPECT_EQ(status_of(big_body.read_all()), 413);
  RawClient big_chunks(server->address());
  big_chunks.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n");
  for (int i = 0; i < 6; ++i) big_chunks.send("3e8\r\n" + std::string(1000, 'x') + "\r\n");
  EXPECT_EQ(status_of(big_chunks.read_all()), 413);
  ClientOptions fits;
  fits.body = std::string(5000, 'y');
  EXPECT_EQ(request(Method::kPost, server->url() + "/echo", fits)->status, 200);
}

TEST(Limits, BoundsTime) {
  Options options = any_port();
  options.limits.request_time = milliseconds(200);
  options.limits.idle_time = milliseconds(400);
  auto server = serve(std::move(options));
  RawClient idle(server->address());
  RawClient slow(server->address());
  auto start = std::chrono::steady_clock::now();
  std::string request = get_request("/page", "X: " + std::string(2000, 'x') + "\r\n");
  for (char c : request) {  // a byte every 10 ms would take 20 s
    if (!slow.send({&c, 1})) break;
    if (std::chrono::steady_clock::now() - start > milliseconds(300)) break;
    std::this_thread::sleep_for(milliseconds(10));
  }
  EXPECT_EQ(status_of(slow.read_all()), 408);
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_TRUE(idle.closed_by_server());
  EXPECT_LT(std::chrono::steady_clock::now() - start, seconds(5));
}

TEST(Limits, CutsAClientThatDoesNotRead) {
  Options options = any_port();
  options.limits.write_time = milliseconds(200);
  Router router;
  auto big = std::make_shared<const std::string>(64u << 20, 'x');
  router.add(Method::kGet, "/big", [big](const Request&) {
    Response response;
    response.shared_body = big;
    return response;
  });
  auto server = serve(std::move(options), std::move(router));
  RawClient client(server->address(), 4096);
  client.send(get_request("/big"));
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 1; }));
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
}

TEST(Limits, BoundsConnectionsAndRequestsOnOne) {
  Options options = any_port();
  options.limits.connections = 2;
  options.limits.requests_per_connection = 2;
  auto server = serve(std::move(options));
  RawClient first(server->address()), second(server->address());
  first.send(get_request("/hello/a"));
  first.read_until("hello a");
  second.send(get_request("/hello/b"));
  second.read_until("hello b");
  RawClient third(server->address());  // takes the place of the one that is idle longest
  third.send(get_request("/hello/c"));
  third.read_until("hello c");
  EXPECT_EQ(first.read_all().find("503"), std::string::npos);
  EXPECT_TRUE(first.closed_by_server());
  second.take();
  second.send(get_request("/hello/b"));
  EXPECT_NE(second.read_all().find("Connection: close"), std::string::npos);
  EXPECT_EQ(get(server->url() + "/hello/d")->status, 200);
}

TEST(Limits, RefusesWhileTheQueueStaysFull) {
  Options options = any_port();
  options.limits.workers = 1;
  options.limits.queued_requests = 1;
  std::latch running(1), go(1);
  Router router;
  router.add(Method::kGet, "/wait", [&](const Request&) {
    running.count_down();
    go.wait();
    return text_response("done");
  });
  router.add(Method::kGet, "/quick", [](const Request&) { return text_response("quick"); });
  auto server = serve(std::move(options), std::move(router));
  RawClient busy(server->address());
  busy.send(get_request("/wait"));
  running.wait();
  // Two more: one waits in the queue, one must be refused although nothing finishes.
  std::atomic<int> refused = 0, served = 0;
  auto ask = [&] {
    RawClient client(server->address());
    client.send(get_request("/quick", "Connection: close\r\n"));
    int status = status_of(client.read_all());
    (status == 503 ? refused : served)++;
  };
  std::thread one(ask), two(ask);
  EXPECT_TRUE(eventually([&] { return refused == 1; }));
  go.count_down();
  one.join();
  two.join();
  EXPECT_EQ(served, 1);
}

TEST(Limits, SixtyFourClientsAtOnce) {
  auto server = serve(any_port());
  std::atomic<int> good = 0;
  std::vector<std::thread> clients;
  clients.reserve(64);
  for (int c = 0; c < 64; ++c) {
    clients.emplace_back([&, c] {
      RawClient client(server->address());
      for (int i = 0; i < 50; ++i) {
        std::string wanted = fmt::format("hello {}-{}.", c, i);
        client.send(get_request(fmt::format("/hello/{}-{}.", c, i)));
        if (client.read_until(wanted).find(wanted) != std::string::npos) ++good;
        client.take();
      }
    });
  }
  for (auto& client : clients) client.join();
  EXPECT_EQ(good, 64 * 50);
}

TEST(Limits, SurvivesGarbage) {
  Options options = any_port();
  options.limits.idle_time = options.limits.request_time = milliseconds(2000);
  auto server = serve(std::move(options));
  Rng rng(7);
  const std::string good =
      "POST /echo?a=%20b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
      "Expect: 100-continue\r\n\r\n5;x=y\r\nhello\r\n0\r\nTrailer: x\r\n\r\n" +
      get_request("/hello/x");
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes = good;
    if (rng.one_in(2)) {
      bytes.resize(rng.below(300));
      rng.fill({reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()});
    } else {
      for (std::uint64_t n = rng.between(1, 8); n > 0; --n)
        bytes[rng.below(bytes.size())] = static_cast<char>(rng.below(256));
      bytes.resize(rng.below(bytes.size() + 1));
    }
    RawClient client(server->address());
    client.send(bytes);
    client.finish_sending();
    if (rng.one_in(4)) client.read_all();
  }
  EXPECT_EQ(get(server->url() + "/hello/still")->body, "hello still");
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 0; }));
}

}  // namespace
}  // namespace coffer::http
