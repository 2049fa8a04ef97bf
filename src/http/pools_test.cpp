// What hangs in one pool of workers, and who is served meanwhile.
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <thread>

#include "base/result.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

using std::chrono::seconds;

// Routes of two pools whose handlers wait, one of the common workers and one of the I/O thread.
class Pools : public testing::Test {
 protected:
  Pools() {
    Options options = any_port();
    options.limits.workers = 1;
    options.limits.pool_workers = 2;
    options.limits.queued_requests = 4;
    Router router;
    for (const char* pool : {"wallet", "token"})
      router.add(Method::kGet, std::string("/") + pool,
                 [this](const Request&) {
                   ++running_;
                   go_.wait();
                   return text_response("done");
                 },
                 {.pool = pool});
    router.add_async(
        Method::kPost, "/later",
        [](const Request&, const Respond& respond) { respond(text_response("later")); },
        {.pool = "wallet"});
    router.add(Method::kGet, "/utxos", [](const Request&) { return text_response("utxos"); });
    router.add(Method::kGet, "/health", [](const Request&) { return text_response("live"); },
               {.on_io_thread = true});
    server_ = serve(std::move(options), std::move(router));
  }
  void TearDown() override {
    if (!go_.try_wait()) go_.count_down();
  }
  std::unique_ptr<RawClient> ask(std::string_view path) const {
    auto client = std::make_unique<RawClient>(server_->address());
    client->send(get_request(path, "Connection: close\r\n"));
    return client;
  }

  std::atomic<int> running_ = 0;
  std::latch go_{1};
  std::unique_ptr<Server> server_;
};

TEST_F(Pools, HungDatabaseHoldsUpNobodyElse) {
  std::vector<std::unique_ptr<RawClient>> hung;
  hung.reserve(6);
  for (int i = 0; i < 2; ++i) hung.push_back(ask("/wallet"));
  ASSERT_TRUE(eventually([&] { return running_ == 2; }));
  for (int i = 0; i < 4; ++i) hung.push_back(ask("/wallet"));  // these wait in its queue
  // Once the queue is full one more is refused at once.
  const auto begun = std::chrono::steady_clock::now();
  ClientOptions impatient;
  impatient.timeout = std::chrono::milliseconds(200);
  EXPECT_TRUE(eventually([&] {
    const auto full = get(server_->url() + "/wallet", impatient);
    return full && full->status == 503 && find_header(full->headers, "Retry-After");
  }));
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(get(server_->url() + "/health")->body, "live");
    EXPECT_EQ(get(server_->url() + "/utxos")->body, "utxos");
  }
  EXPECT_LT(std::chrono::steady_clock::now() - begun, seconds(10));
  go_.count_down();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_EQ(status_of(hung[i]->read_all()), 200);
  EXPECT_EQ(get(server_->url() + "/token")->body, "done");
  EXPECT_EQ(request(Method::kPost, server_->url() + "/later")->body, "later");
}

// One that hangs among the common workers leaves health as it is.
TEST_F(Pools, HealthNeedsNoWorker) {
  Options options = any_port();
  options.limits.workers = 1;
  options.limits.queued_requests = 1;
  std::latch running(1), go(1);
  Router router;
  router.add(Method::kGet, "/hangs", [&](const Request&) {
    running.count_down();
    go.wait();
    return text_response("done");
  });
  router.add(Method::kGet, "/health", [](const Request&) { return text_response("live"); },
             {.on_io_thread = true});
  const auto server = serve(std::move(options), std::move(router));
  RawClient hung(server->address());
  hung.send(get_request("/hangs"));
  running.wait();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(get(server->url() + "/health")->body, "live");
  EXPECT_EQ(request(Method::kHead, server->url() + "/health")->status, 200);
  go.count_down();
  EXPECT_EQ(status_of(hung.read_until("done")), 200);
}

}  // namespace
}  // namespace coffer::http
