// The server and the client over real sockets.
#include "http/server.h"

#include <gtest/gtest.h>

#include <latch>
#include <thread>

#include "base/result.h"
#include "http/client.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Server, AnswersAndKeepsTheConnection) {
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

TEST(Server, PipelinedRequestsAreAnsweredInOrder) {
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

TEST(Server, BodiesWithLengthAndInChunks) {
  auto server = serve(any_port());
  RawClient client(server->address());
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc");
  client.read_until("body=abc");
  client.send("POST /echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nx");
  client.send("yz\r\n2\r\n12\r\n0\r\n\r\n");
  client.read_until("body=xyz12");
  client.take();
  client.send(
      "POST /echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\nExpect: "
      "100-continue\r\n\r\n");
  EXPECT_EQ(status_of(client.read_until("\r\n\r\n")), 100);
  client.send("ok");
  EXPECT_NE(client.read_until("body=ok").find("body=ok"), std::string::npos);
}

TEST(Server, HeadHasTheLengthAndNoBody) {
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

TEST(Server, UnknownPathsMethodsAndHosts) {
  Options options = any_port();
  options.allowed_hosts = {"coffer.example"};
  auto server = serve(std::move(options));
  auto status = [&](const std::string& bytes) {
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
                   "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            400);
  EXPECT_EQ(status(get_request("/throws")), 500);
  auto refused = request(Method::kPut, server->url() + "/echo");
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->status, 405);
  EXPECT_EQ(find_header(refused->headers, "allow"), "POST");
  EXPECT_EQ(refused->content_type, "application/problem+json");
}

TEST(Server, HooksSeeEveryRequest) {
  Options options = any_port();
  std::mutex mutex;
  std::vector<std::string> seen;
  options.authorize = [](const Request& request, const RouteInfo&) -> std::optional<Response> {
    if (request.header("x-deny")) return problem(401, "unauthorized", "no");
    return std::nullopt;
  };
  options.before = [](const Request& request, const RouteInfo&) -> std::optional<Response> {
    if (request.header("x-wait")) return problem(503, "unavailable", "not now");
    return std::nullopt;
  };
  options.after = [&](const Request&, const RouteInfo* route, const Finished& finished) {
    std::lock_guard lock(mutex);
    seen.push_back(fmt::format("{} {} {}{}", route ? route->pattern : "-", finished.status,
                               finished.bytes, finished.handled ? "" : " refused"));
  };
  auto server = serve(std::move(options));
  (void)get(server->url() + "/hello/abc");
  ClientOptions denied;
  denied.headers = {{"X-Deny", "1"}};
  EXPECT_EQ(get(server->url() + "/hello/abc", denied)->status, 401);
  (void)get(server->url() + "/nowhere");
  denied.headers = {{"X-Wait", "1"}};
  EXPECT_EQ(get(server->url() + "/hello/abc", denied)->status, 503);
  std::lock_guard lock(mutex);
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_EQ(seen[0], "/hello/{name} 200 9");
  EXPECT_TRUE(seen[1].starts_with("/hello/{name} 401") && seen[1].ends_with(" refused"));
  EXPECT_TRUE(seen[2].starts_with("- 404") && seen[2].ends_with(" refused"));
  EXPECT_TRUE(seen[3].starts_with("/hello/{name} 503") && !seen[3].ends_with(" refused"));
}

TEST(Server, StopFinishesWhatIsInFlight) {
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

TEST(Server, SaysWhyItCannotListen) {
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

TEST(Server, ListensOnIpv6) {
  Options options;
  options.listen = "[::1]:0";
  auto server = Server::start(options, echo_router());
  if (!server) GTEST_SKIP() << "no IPv6 here: " << server.error().message;
  EXPECT_EQ(get((*server)->url() + "/hello/six")->body, "hello six");
}

TEST(Client, ErrorsNameTheCause) {
  EXPECT_EQ(get("gopher://x").error().code, Code::kInvalidInput);
  Options options = any_port();
  std::latch go(1);
  Router router;
  router.add(Method::kGet, "/wait", [&](const Request&) {
    go.wait();
    return text_response("late");
  });
  router.add(Method::kGet, "/big",
             [](const Request&) { return text_response(std::string(3000, 'x')); });
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
