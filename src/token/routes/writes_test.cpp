#include "token/routes/writes.h"

#include <gtest/gtest.h>

#include <future>

#include "base/result.h"

namespace coffer::token {
namespace {

using Answer = Result<http::Response>;

class TokenWrites : public testing::Test {
 protected:
  // Work that says that it has begun and ends when it is told to.
  std::future<Answer> submit_slow(Writes& writes) {
    return submit(writes, [this]() -> Answer {
      begun_.set_value();
      ended_.get_future().wait();
      return created();
    });
  }
  static std::future<Answer> submit(Writes& writes, Writes::Work work) {
    auto promise = std::make_shared<std::promise<Answer>>();
    writes.submit(std::move(work),
                  [promise](Answer answer) { promise->set_value(std::move(answer)); });
    return promise->get_future();
  }
  static Answer created() {
    http::Response response;
    response.status = 201;
    return response;
  }
  static void expect_refused(std::future<Answer> answer) {
    const Answer refused = answer.get();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kUnavailable);
    EXPECT_EQ(refused.error().reason, "too_many_waiting");
  }

  ManualClock clock_{0};
  std::promise<void> begun_, ended_;
};

TEST_F(TokenWrites, TooManyAreRefusedAtOnce) {
  Writes writes(clock_, {.threads = 1, .max_waiting = 2});
  auto slow = submit_slow(writes);
  begun_.get_future().wait();
  auto second = submit(writes, created), third = submit(writes, created);
  expect_refused(submit(writes, created));
  ended_.set_value();
  EXPECT_EQ(slow.get()->status, 201);
  EXPECT_EQ(second.get()->status, 201);
  EXPECT_EQ(third.get()->status, 201);
}

TEST_F(TokenWrites, WhoWaitedTooLongIsRefused) {
  Writes writes(clock_, {.threads = 1, .max_wait_ms = 5'000});
  auto slow = submit_slow(writes);
  begun_.get_future().wait();
  bool was_run = false;
  auto late = submit(writes, [&] {
    was_run = true;
    return created();
  });
  clock_.advance_ms(5'000);
  auto fresh = submit(writes, created);
  ended_.set_value();
  EXPECT_EQ(slow.get()->status, 201);
  expect_refused(std::move(late));
  EXPECT_FALSE(was_run);
  EXPECT_EQ(fresh.get()->status, 201);
}

}  // namespace
}  // namespace coffer::token
