#include "feed/source_base.h"

#include <gtest/gtest.h>

#include <future>

namespace coffer::feed {
namespace {

class BareSource final : public SourceBase {
 public:
  using SourceBase::interrupted_, SourceBase::set_tip, SourceBase::wait, SourceBase::wake;
  std::string describe() const override { return "bare"; }
  Result<chain::Point> intersect(std::span<const chain::Point>) override {
    return chain::Point::origin();
  }
  Result<SourceEvent> next(int timeout_ms) override {
    wait(timeout_ms);
    if (interrupted_) return cancelled();
    return SourceEvent(Idle{});
  }
  int cuts = 0;

 private:
  void on_interrupt() override { ++cuts; }
};

TEST(SourceBase, TipIsUnknownUntilItIsSet) {
  BareSource source;
  EXPECT_EQ(source.tip_number(), std::nullopt);
  EXPECT_EQ(source.confirmed_tip(), std::nullopt);
  source.set_tip(7);
  EXPECT_EQ(source.tip_number(), 7u);
  EXPECT_EQ(source.confirmed_tip(), 7u);
  source.set_tip(9, 7);
  EXPECT_EQ(source.tip_number(), 9u);
  EXPECT_EQ(source.confirmed_tip(), 7u);
  source.set_tip(std::nullopt, 0);
  EXPECT_EQ(source.confirmed_tip(), std::nullopt);
}

TEST(SourceBase, InterruptEndsAWaitNowAndFromNowOn) {
  BareSource source;
  EXPECT_TRUE(std::holds_alternative<Idle>(source.next(0).value()));
  auto waiting = std::async(std::launch::async, [&] { return source.next(600'000); });
  source.interrupt();
  EXPECT_EQ(waiting.get().error().code, Code::kCancelled);
  EXPECT_EQ(source.next(600'000).error().code, Code::kCancelled);
  EXPECT_EQ(source.cuts, 1);
}

TEST(SourceBase, WakeEndsAWaitOnlyWhenItIsReady) {
  BareSource source;
  std::atomic<int> asked{0};
  std::atomic<bool> ready{false};
  auto waiting = std::async(std::launch::async,
                            [&] { source.wait(600'000, [&] { return ++asked, ready.load(); }); });
  while (asked == 0) std::this_thread::yield();
  source.wake();
  while (asked < 2) std::this_thread::yield();
  ready = true;
  source.wake();
  waiting.get();
  EXPECT_FALSE(source.interrupted_);
}

}  // namespace
}  // namespace coffer::feed
