// The server over real sockets: requests, limits, garbage, stopping.
#include "http/server.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/random.h"
#include "http/client.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

Options any_port() {
  Options options;
  options.listen = "127.0.0.1:0";
  return options;
}

Router echo_router() {
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

std::unique_ptr<Server> serve(Options options, Router router = echo_router()) {
  auto server = Server::start(std::move(options), std::move(router));
  if (!server) ADD_FAILURE() << server.error().message;
  return std::move(*server);
}

int status_of(std::string_view answer) {
  return answer.size() > 12 ? std::atoi(std::string(answer.substr(9, 3)).c_str()) : 0;
}

TEST(Server, answers_and_keeps_the_connection) {
  auto server = serve(any_port());
  RawClient client(server->address());
  client.send(get_request("/hello/w%C3%A9"));
  EXPECT_NE(client.read_until("hello w\xc3\xa9").find("Connection: keep-alive"), std::string::npos);
  client.take();
  client.send(get_request("/query?q=a+b"));
  client.read_until("a b loopback");
  client.send(get_request("/page", "Connection: close\r\n"));
  std::string page = client.read_all();
  EXPECT_TRUE(client.closed_by_server());
  for (auto header : {"X-Content-Type-Options: nosniff", "Referrer-Policy: no-referrer",
                      "Cache-Control: no-store", "Content-Security-Policy: default-src 'none'"})
    EXPECT_NE(page.find(header), std::string::npos) << header;
}

TEST(Server, pipelined_requests_are_answered_in_order) {
  auto server = serve(any_port());
  RawClient client(server->address());
  std::string all;
  for (int i = 0; i < 100; ++i) all += get_request(fmt::format("/hello/{}.", i));
  client.send(all);
  std::string answers = client.read_until("hello 99.");
  std::size_t at = 0;
  for (int i = 0; i < 100; ++i) {
    at = answers.find(fmt::format("hello {}.", i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
}

TEST(Server, bodies_with_length_and_in_chunks) {
  auto server = serve(any_port());
  RawClient client(server->address());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
  client.read_until("body=abc");
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nx");
  client.send("yz\r\n2\r\n12\r\n0\r\n\r\n");
  client.read_until("body=xyz12");
  client.take();
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 100);
  client.send("ok");
  EXPECT_NE(client.read_until("body=ok").find("body=ok"), std::string::npos);
}

TEST(Server, head_has_the_length_and_no_body) {
  auto server = serve(any_port());
  RawClient client(server->address());
  client.send("HEAD /hello/you HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
  std::string answer = client.read_all();
  EXPECT_EQ(status_of(answer), 200);
  EXPECT_NE(answer.find("Content-Length: 9\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  auto by_client = request(Method::kHead, server->url() + "/hello/you");
  ASSERT_TRUE(by_client) << by_client.error().message;
  EXPECT_EQ(by_client->status, 200);
}

TEST(Server, unknown_paths_methods_and_hosts) {
  Options options = any_port();
  options.allowed_hosts = {"coffer.example"};
  auto server = serve(std::move(options));
  auto status = [&](std::string bytes) {
    RawClient client(server->address());
    client.send(bytes);
    client.finish_sending();
    return status_of(client.read_all());
  };
  EXPECT_EQ(status(get_request("/nowhere")), 404);
  EXPECT_EQ(status(get_request("/hello/%zz")), 400);
  EXPECT_EQ(status("OPTIONS /echo HTTP/1.1\r\nHost: localhost\r\n\r\n"), 405);
  EXPECT_EQ(status("BREW /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n"), 404);
  EXPECT_EQ(status("GET /page HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403);
  EXPECT_EQ(status("GET http://evil.example/page HTTP/1.1\r\nHost: localhost\r\n\r\n"), 403);
  EXPECT_EQ(status("GET http://localhost/page HTTP/1.1\r\nHost: localhost\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /page HTTP/1.1\r\nHost: coffer.example:99\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /page HTTP/1.1\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /page HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n"), 400);
  EXPECT_EQ(status("GET /page HTTP/1.0\r\n\r\n"), 200);
  EXPECT_EQ(status("GET /page HTTP/9.9\r\nHost: localhost\r\n\r\n"), 505);
  EXPECT_EQ(status("\x16\x03\x01 hello\r\n\r\n"), 400);
  EXPECT_EQ(status("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
                   "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 400);
  EXPECT_EQ(status(get_request("/throws")), 500);
  auto refused = request(Method::kPut, server->url() + "/echo");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 405);
  EXPECT_EQ(find_header(refused->headers, "allow"), "POST");
  EXPECT_EQ(refused->content_type, "application/problem+json");
}

TEST(Server, bounds_headers_and_bodies) {
  Options options = any_port();
  options.limits.header_bytes = 1000;
  options.limits.body_bytes = 5000;
  auto server = serve(std::move(options));
  RawClient big_header(server->address());
  big_header.send(get_request("/page", "X: " + std::string(5000, 'x') + "\r\n"));
  EXPECT_EQ(status_of(big_header.read_all()), 431);
  RawClient endless_header(server->address());
  while (endless_header.send(std::string(1000, 'a'))) {}
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

TEST(Server, bounds_time) {
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

TEST(Server, cuts_a_client_that_does_not_read) {
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

TEST(Server, bounds_connections_and_requests_on_one) {
  Options options = any_port();
  options.limits.connections = 2;
  options.limits.requests_per_connection = 2;
  auto server = serve(std::move(options));
  RawClient first(server->address()), second(server->address());
  first.send(get_request("/hello/a"));
  first.read_until("hello a");
  second.send(get_request("/hello/b"));
  second.read_until("hello b");
  RawClient third(server->address());
  third.send(get_request("/hello/c"));
  std::string refused = third.read_all();
  EXPECT_EQ(status_of(refused), 503);
  EXPECT_NE(refused.find("Retry-After"), std::string::npos);
  first.take();
  first.send(get_request("/hello/a"));
  EXPECT_NE(first.read_all().find("Connection: close"), std::string::npos);
  first.close();
  EXPECT_TRUE(eventually([&] { return server->counts().connections == 1; }));
  EXPECT_EQ(get(server->url() + "/hello/d")->status, 200);
}

TEST(Server, refuses_while_the_queue_stays_full) {
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

TEST(Server, hooks_see_every_request) {
  Options options = any_port();
  std::mutex mutex;
  std::vector<std::string> seen;
  options.before = [](const Request& request, const RouteInfo&) -> std::optional<Response> {
    if (request.header("x-deny")) return problem(401, "unauthorized", "no");
    return std::nullopt;
  };
  options.after = [&](const Request&, const RouteInfo* route, const Finished& finished) {
    std::lock_guard lock(mutex);
    seen.push_back(fmt::format("{} {} {}", route ? route->pattern : "-", finished.status, finished.bytes));
  };
  auto server = serve(std::move(options));
  get(server->url() + "/hello/abc");
  ClientOptions denied;
  denied.headers = {{"X-Deny", "1"}};
  EXPECT_EQ(get(server->url() + "/hello/abc", denied)->status, 401);
  get(server->url() + "/nowhere");
  std::lock_guard lock(mutex);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[0], "/hello/{name} 200 9");
  EXPECT_TRUE(seen[1].starts_with("/hello/{name} 401"));
  EXPECT_TRUE(seen[2].starts_with("- 404"));
}

TEST(Server, sixty_four_clients_at_once) {
  auto server = serve(any_port());
  std::atomic<int> good = 0;
  std::vector<std::thread> clients;
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

TEST(Server, survives_garbage) {
  Options options = any_port();
  options.limits.idle_time = options.limits.request_time = milliseconds(2000);
  auto server = serve(std::move(options));
  Rng rng(7);
  const std::string good =
      "POST /echo?a=%20b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
      "Expect: 100-continue\r\n\r\n5;x=y\r\nhello\r\n0\r\nTrailer: x\r\n\r\n" + get_request("/hello/x");
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

TEST(Server, stop_finishes_what_is_in_flight) {
  std::latch running(1), go(1);
  Router router;
  router.add(Method::kGet, "/wait", [&](const Request&) {
    running.count_down();
    go.wait();
    return text_response("done");
  });
  auto server = serve(any_port(), std::move(router));
  RawClient idle(server->address()), busy(server->address());
  busy.send(get_request("/wait"));
  running.wait();
  std::thread stopper([&] { server->stop(seconds(10)); });
  idle.read_all();  // closed at once: the stop has begun
  EXPECT_TRUE(idle.closed_by_server());
  go.count_down();
  std::string answer = busy.read_all();
  stopper.join();
  EXPECT_NE(answer.find("done"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
  auto refused = get(server->url() + "/wait");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  server->stop(seconds(1));
}

TEST(Server, says_why_it_cannot_listen) {
  auto server = serve(any_port());
  Options taken;
  taken.listen = server->address();
  auto refused = Server::start(taken, Router());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kUnavailable);
  EXPECT_NE(refused.error().message.find(server->address()), std::string::npos);
  EXPECT_NE(refused.error().message.find("in use"), std::string::npos);
  for (auto bad : {"nonsense", "127.0.0.1", "host.example:80", "127.0.0.1:99999", ""}) {
    Options options;
    options.listen = bad;
    refused = Server::start(options, Router());
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code, Code::kUsage) << bad;
  }
  EXPECT_TRUE(*is_loopback_address("[::1]:1"));
  EXPECT_FALSE(*is_loopback_address("0.0.0.0:1"));
}

TEST(Server, listens_on_ipv6) {
  Options options;
  options.listen = "[::1]:0";
  auto server = Server::start(options, echo_router());
  if (!server) GTEST_SKIP() << "no IPv6 here: " << server.error().message;
  EXPECT_EQ(get((*server)->url() + "/hello/six")->body, "hello six");
}

TEST(Client, reports_what_went_wrong) {
  EXPECT_EQ(get("gopher://x").error().code, Code::kInvalidInput);
  Options options = any_port();
  std::latch go(1);
  Router router;
  router.add(Method::kGet, "/wait", [&](const Request&) {
    go.wait();
    return text_response("late");
  });
  router.add(Method::kGet, "/big", [](const Request&) { return text_response(std::string(3000, 'x')); });
  auto server = serve(std::move(options), std::move(router));
  ClientOptions hurried;
  hurried.timeout = milliseconds(50);
  hurried.max_body_bytes = 1000;
  EXPECT_EQ(get(server->url() + "/wait", hurried).error().code, Code::kTimeout);
  go.count_down();
  hurried.timeout = seconds(10);
  EXPECT_EQ(get(server->url() + "/big", hurried).error().code, Code::kTooLarge);
}

}  // namespace
}  // namespace coffer::http
