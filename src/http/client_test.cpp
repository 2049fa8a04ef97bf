#include "http/client.h"

#include <thread>

#include "http/test_util.h"

namespace coffer::http {
namespace {

Router who_router() {
  Router router;
  router.add(Method::kPost, "/who", [](const Request& request) {
    return text_response(request.remote + " says " + request.body);
  });
  return router;
}

std::string peer_of(const Result<Response>& answer) {
  if (!answer) return answer.error().message;
  return std::string(answer->content().substr(0, answer->content().find(' ')));
}

TEST(ClientConnection, ReusedAndReopenedAfterServerClose) {
  Options options = any_port();
  auto server = serve(options, who_router());
  options.listen = server->address();
  auto connection = ClientConnection::to("http://" + server->address() + "/who").value();
  const auto first = connection.post("one");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->content().ends_with(" says one"));
  const std::string large(300'000, 'x');
  const auto second = connection.post(large);
  ASSERT_TRUE(second) << second.error().message;
  EXPECT_TRUE(second->content().ends_with(large));
  EXPECT_EQ(peer_of(first), peer_of(second)) << "another connection";

  server.reset();
  const auto none = connection.post("three");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, Code::kUnavailable);
  server = serve(options, who_router());
  ASSERT_TRUE(server);
  ASSERT_TRUE(connection.post("four"));
  // It ends and comes back while the connection is idle: the client notices nothing.
  server.reset();
  server = serve(options, who_router());
  ASSERT_TRUE(server);
  const auto again = connection.post("five");
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->content().ends_with(" says five"));
}

TEST(ClientConnection, RequestsOtherTargetsOfItsServer) {
  auto server = serve(any_port());
  auto connection = ClientConnection::to(server->url() + "/elsewhere").value();
  EXPECT_EQ(connection.get("/hello/you").value().content(), "hello you");
  EXPECT_EQ(connection.get("/query?q=x").value().content(), "x loopback");
  EXPECT_EQ(connection.get("/none").value().status, 404);
  for (const char* bad : {"", "hello", "/a b", "/a\r\nX: y", "/a#b", "http://other/"})
    EXPECT_EQ(connection.get(bad).error().code, Code::kInvalidInput) << bad;
}

TEST(ClientConnection, CancelClosesForGood) {
  SilentServer server;
  ClientOptions options;
  options.timeout = std::chrono::seconds(60);
  auto connection = ClientConnection::to("http://" + server.address(), options).value();
  const auto start = std::chrono::steady_clock::now();
  std::thread other([&] {
    EXPECT_TRUE(server.asked());
    connection.cancel();
  });
  EXPECT_EQ(connection.post("hello").error().code, Code::kCancelled);
  other.join();
  EXPECT_EQ(connection.get("/again").error().code, Code::kCancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));

  auto early = ClientConnection::to("http://" + server.address()).value();
  early.cancel();
  EXPECT_EQ(early.post("").error().code, Code::kCancelled);
}

TEST(ClientConnection, RefusesBadAddresses) {
  EXPECT_EQ(ClientConnection::to("node:1234").error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace coffer::http
