// Handlers that answer later, and limits of a route.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Keeps every request of /later and /quick?… that nobody has answered.
class Later {
 public:
  void add_to(Router& router) {
    router.add_async(Method::kPost, "/later", [this](const Request& request, Respond respond) {
      std::lock_guard lock(mutex_);
      waiting_.push_back({&request, std::move(respond)});
      came_.notify_all();
    });
    router.add_async(Method::kGet, "/at-once", [](const Request& request, const Respond& respond) {
      respond(text_response("at once " + std::string(request.query_param("q").value_or(""))));
      respond(text_response("twice"));
    });
    router.add_async(Method::kGet, "/dropped", [](const Request&, const Respond&) {});
    router.add_async(Method::kGet, "/throws",
                     [](const Request&, const Respond&) { throw std::bad_alloc(); });
    router.add(Method::kGet, "/sync", [](const Request&) { return text_response("sync"); });
  }
  // False if there are not so many within 20 seconds.
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return came_.wait_for(lock, seconds(20), [&] { return waiting_.size() >= count; });
  }
  struct Waiting {
    const Request* request;
    Respond respond;
  };
  std::vector<Waiting> take() {
    std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }
  static void echo(const Waiting& waiting) {
    waiting.respond(text_response("body=" + waiting.request->body));
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  std::vector<Waiting> waiting_;
};

std::string post_request(std::string_view target, std::string_view body) {
  return fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}", target,
                     body.size(), body);
}

// A server whose asynchronous requests wait in `later`.
struct Fixture {
  Later later;
  std::unique_ptr<Server> server;

  explicit Fixture(Options options = any_port()) {
    Router router;
    later.add_to(router);
    server = serve(std::move(options), std::move(router));
  }
  std::unique_ptr<RawClient> post(std::string_view body) const {
    auto client = std::make_unique<RawClient>(server->address());
    client->send(post_request("/later", body));
    return client;
  }
  bool has_pending(std::size_t count) const {
    return eventually([&] { return server->counts().pending == count; });
  }
};

TEST(Async, AnswersFromAnotherThreadAndKeepsTheConnection) {
  Fixture f;
  auto client = f.post("one");
  client->send(get_request("/at-once?q=two"));  // in order, though it could be answered first
  ASSERT_TRUE(f.later.wait_for(1));
  for (const auto& waiting : f.later.take()) Later::echo(waiting);
  const std::string answers = client->read_until("at once two");
  EXPECT_LT(answers.find("body=one"), answers.find("at once two"));
  EXPECT_EQ(answers.find("twice"), std::string::npos);
  EXPECT_TRUE(f.has_pending(0));
}

TEST(Async, DroppedAndThrowingHandlersAnswer500) {
  Fixture f;
  const auto dropped = get(f.server->url() + "/dropped");
  ASSERT_TRUE(dropped) << dropped.error().message;
  EXPECT_EQ(dropped->status, 500);
  EXPECT_NE(dropped->body.find("without an answer"), std::string::npos);
  EXPECT_EQ(get(f.server->url() + "/throws")->status, 500);
  EXPECT_EQ(request(Method::kHead, f.server->url() + "/at-once")->status, 200);
  EXPECT_TRUE(f.has_pending(0));
}

TEST(Async, ManyWaitWhileOthersAreAnswered) {
  constexpr std::size_t kWaiting = 1024;
  Options options = any_port();
  options.limits.connections = 2 * kWaiting;
  options.limits.workers = 2;
  options.limits.queued_requests = 4;  // only of the others
  Fixture f(std::move(options));
  std::vector<std::unique_ptr<RawClient>> clients;
  clients.reserve(kWaiting);
  for (std::size_t i = 0; i < kWaiting; ++i) clients.push_back(f.post(fmt::format("<{}>", i)));
  ASSERT_TRUE(f.later.wait_for(kWaiting));
  EXPECT_EQ(f.server->counts().pending, kWaiting);
  EXPECT_EQ(get(f.server->url() + "/sync")->body, "sync");
  EXPECT_EQ(get(f.server->url() + "/at-once?q=x")->body, "at once x");
  std::thread answering([waiting = f.later.take()] {
    for (const auto& each : waiting) Later::echo(each);
  });
  std::size_t good = 0;
  for (std::size_t i = 0; i < kWaiting; ++i) {
    const std::string wanted = fmt::format("body=<{}>", i);
    if (clients[i]->read_until(wanted).find(wanted) != std::string::npos) ++good;
  }
  answering.join();
  EXPECT_EQ(good, kWaiting);
  EXPECT_TRUE(f.has_pending(0));
}

TEST(Async, AboveTheBoundIsRefused) {
  Options options = any_port();
  options.limits.pending_requests = 2;
  Fixture f(std::move(options));
  auto first = f.post("1"), second = f.post("2");
  ASSERT_TRUE(f.later.wait_for(2));
  auto third = f.post("3");
  const std::string refused = third->read_until("try again soon");
  EXPECT_EQ(status_of(refused), 503);
  EXPECT_NE(refused.find("Retry-After"), std::string::npos);
  EXPECT_EQ(get(f.server->url() + "/sync")->status, 200);
  for (const auto& waiting : f.later.take()) Later::echo(waiting);
  first->read_until("body=1");
  third->take();
  third->send(post_request("/later", "again"));  // the connection lives on
  ASSERT_TRUE(f.later.wait_for(1));
  for (const auto& waiting : f.later.take()) Later::echo(waiting);
  EXPECT_EQ(status_of(third->read_until("body=again")), 200);
}

TEST(Async, UnansweredGets504AndTheHookSeesTheLateAnswer) {
  Options options = any_port();
  options.limits.answer_time = milliseconds(100);
  std::mutex mutex;
  std::vector<std::string> seen;
  options.after = [&](const Request& request, const RouteInfo* route, const Finished& finished) {
    std::lock_guard lock(mutex);
    seen.push_back(
        fmt::format("{} {} {}", route ? route->pattern : "-", request.path, finished.status));
  };
  Fixture f(std::move(options));
  auto client = f.post("x");
  const std::string answer = client->read_all();
  EXPECT_EQ(status_of(answer), 504);
  EXPECT_TRUE(client->closed_by_server());
  EXPECT_EQ(f.server->counts().pending, 1u);
  ASSERT_TRUE(f.later.wait_for(1));
  for (const auto& waiting : f.later.take()) Later::echo(waiting);
  EXPECT_TRUE(f.has_pending(0));
  f.server->stop(seconds(1));
  std::lock_guard lock(mutex);
  EXPECT_EQ(seen, (std::vector<std::string>{"-  504", "/later /later 200"}));
}

TEST(Async, ClientThatIsGoneHarmsNobody) {
  Fixture f;
  for (int i = 0; i < 50; ++i) f.post("x")->close();
  ASSERT_TRUE(f.later.wait_for(50));
  for (const auto& waiting : f.later.take()) Later::echo(waiting);
  EXPECT_TRUE(f.has_pending(0));
  EXPECT_TRUE(eventually([&] { return f.server->counts().connections == 0; }));
  EXPECT_EQ(get(f.server->url() + "/sync")->status, 200);
}

TEST(Async, StopWaitsForTheAnswer) {
  Fixture f;
  auto client = f.post("last");
  ASSERT_TRUE(f.later.wait_for(1));
  RawClient idle(f.server->address());
  idle.send(get_request("/sync"));
  idle.read_until("sync");
  std::thread stopper([&] { f.server->stop(seconds(10)); });
  idle.read_all();  // closed at once: the stop has begun
  for (const auto& waiting : f.later.take()) Later::echo(waiting);
  const std::string answer = client->read_all();
  stopper.join();
  EXPECT_NE(answer.find("body=last"), std::string::npos);
  EXPECT_NE(answer.find("Connection: close"), std::string::npos);
}

TEST(Async, StopCutsWhatIsNeverAnsweredAndTheRespondOutlivesTheServer) {
  std::atomic<int> reported = 0;
  Options options = any_port();
  options.after = [&](const Request&, const RouteInfo*, const Finished&) { ++reported; };
  auto f = std::make_unique<Fixture>(std::move(options));
  auto client = f->post("never");
  ASSERT_TRUE(f->later.wait_for(1));
  const auto begun = std::chrono::steady_clock::now();
  f->server->stop(milliseconds(200));
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(5));
  EXPECT_EQ(client->read_all(), "");
  EXPECT_TRUE(client->closed_by_server());
  auto waiting = f->later.take();
  f.reset();
  EXPECT_EQ(waiting.at(0).request->body, "never");
  Later::echo(waiting.at(0));
  waiting.clear();
  EXPECT_EQ(reported, 0);
}

// Answers come from several threads while the server stops.
TEST(Async, StopsInTheMiddleOfAnswers) {
  for (int round = 0; round < 5; ++round) {
    Fixture f;
    std::vector<std::unique_ptr<RawClient>> clients;
    clients.reserve(200);
    for (int i = 0; i < 200; ++i) clients.push_back(f.post("x"));
    ASSERT_TRUE(f.later.wait_for(200));
    std::vector<std::thread> threads;
    threads.reserve(4);
    auto waiting = f.later.take();
    std::atomic<std::size_t> next = 0;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([&] {
        for (std::size_t i = next++; i < waiting.size(); i = next++) {
          Later::echo(waiting[i]);
          waiting[i].respond = nullptr;
        }
      });
    f.server->stop(milliseconds(1));
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(f.server->counts().pending, 0u);
  }
}

class RouteBodies : public testing::Test {
 protected:
  static constexpr std::size_t kCommon = 1000, kLarge = 50'000, kSmall = 10;

  Options options_ = any_port();
  std::unique_ptr<Server> server_;

  void start() {
    options_.limits.body_bytes = kCommon;
    Router router;
    const auto size = [](const Request& request) {
      return text_response(fmt::format("size={};", request.body.size()));
    };
    router.add(Method::kPost, "/common", size);
    router.add(Method::kPost, "/small", size, {.body_bytes = kSmall});
    router.add(Method::kPost, "/{name}/large", size, {.body_bytes = kLarge});
    router.add_async(
        Method::kPost, "/async",
        [size](const Request& request, const Respond& respond) { respond(size(request)); },
        {.body_bytes = kLarge});
    server_ = serve(std::move(options_), std::move(router));
  }
  int post(const std::string& path, std::size_t bytes) const {
    ClientOptions client;
    client.body = std::string(bytes, 'x');
    const auto answer = request(Method::kPost, server_->url() + path, client);
    if (!answer) {
      ADD_FAILURE() << answer.error().message;
      return 0;
    }
    if (answer->status == 200) {
      EXPECT_EQ(answer->body, fmt::format("size={};", bytes));
    }
    return answer->status;
  }
  // In chunks of 1,000 bytes.
  std::string chunked(std::string_view path, int chunks) const {
    RawClient client(server_->address());
    client.send(
        fmt::format("POST {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n",
                    path));
    for (int i = 0; i < chunks; ++i) client.send("3e8\r\n" + std::string(1000, 'x') + "\r\n");
    client.send("0\r\n\r\n");
    return client.read_all();
  }
};

TEST_F(RouteBodies, EachRouteHasItsLimit) {
  start();
  EXPECT_EQ(post("/common", kCommon), 200);
  EXPECT_EQ(post("/common", kCommon + 1), 413);
  EXPECT_EQ(post("/nowhere", kCommon + 1), 404);
  EXPECT_EQ(post("/nowhere", kCommon), 404);
  EXPECT_EQ(post("/small", kSmall), 200);
  EXPECT_EQ(post("/small", kSmall + 1), 413);
  for (const char* path : {"/a/large", "/async"}) {
    EXPECT_EQ(post(path, 0), 200);
    EXPECT_EQ(post(path, kLarge), 200);
    EXPECT_EQ(post(path, kLarge + 1), 413);
  }
  EXPECT_EQ(status_of(chunked("/common", 1)), 200);
  EXPECT_EQ(status_of(chunked("/common", 2)), 413);
  EXPECT_NE(chunked("/async", 50).find("size=50000;"), std::string::npos);
  const std::string refused = chunked("/async", 51);
  EXPECT_EQ(status_of(refused), 413);
  EXPECT_NE(refused.find("more than 50000 bytes"), std::string::npos) << refused;
}

TEST_F(RouteBodies, LargeRequestsFollowEachOtherOnOneConnection) {
  start();
  RawClient client(server_->address());
  std::string both = post_request("/async", std::string(20'000, 'x')) + get_request("/nowhere") +
                     post_request("/common", "abc");
  client.send(both);
  const std::string answers = client.read_until("size=3;");
  EXPECT_NE(answers.find("size=20000;"), std::string::npos);
  EXPECT_EQ(count(answers, "HTTP/1.1 404"), 1u);
}

TEST_F(RouteBodies, BytesOfAllBodiesAreBounded) {
  options_.limits.total_body_bytes = 2'500;
  start();
  RawClient slow(server_->address());
  slow.send(
      "POST /async HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2000\r\n"
      "Expect: 100-continue\r\n\r\n");
  EXPECT_EQ(status_of(slow.read_until("\r\n\r\n")), 100);  // it has the place
  EXPECT_EQ(server_->counts().body_bytes, 2000u);
  EXPECT_EQ(post("/common", 501), 503);
  EXPECT_EQ(status_of(chunked("/common", 0)), 503);  // it could become as large as is allowed
  EXPECT_EQ(post("/async", 500), 200);
  slow.take();
  slow.send(std::string(2000, 'x'));
  EXPECT_EQ(status_of(slow.read_until("size=2000;")), 200);
  EXPECT_TRUE(eventually([&] { return server_->counts().body_bytes == 0; }));
  EXPECT_EQ(post("/async", kLarge), 200);  // one alone is always read
}

}  // namespace
}  // namespace coffer::http
