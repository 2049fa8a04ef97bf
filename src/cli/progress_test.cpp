#include "cli/progress.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace coffer::cli {
namespace {

class Progress : public ::testing::Test {
 protected:
  ProgressOutput output(bool terminal, std::size_t columns = 80) {
    return {[this](std::string_view text) { written_.emplace_back(text); }, terminal, columns};
  }
  // The last text written, without the sequence that clears a terminal's line.
  std::string last_line() const {
    if (written_.empty()) return "nothing";
    const std::string& text = written_.back();
    return text.starts_with("\r\x1b[K") ? text.substr(4) : text;
  }

  ManualClock clock_{1'700'000'000'000};
  std::vector<std::string> written_;
};

TEST_F(Progress, PlainLinesEveryFiveSecondsAndAtTheEnd) {
  ProgressBar bar({"syncing", "blocks", 1'000}, clock_, output(false));
  for (std::uint64_t done = 1; done <= 600; ++done) {  // 12 seconds at 50 a second
    clock_.advance_ms(20);
    bar.update(done);
  }
  EXPECT_EQ(written_,
            (std::vector<std::string>{"syncing: 25% 250/1,000 blocks, 50.0/s, 15.0 s left\n",
                                      "syncing: 50% 500/1,000 blocks, 50.0/s, 10.0 s left\n"}));
  bar.finish();
  EXPECT_EQ(last_line(), "syncing: 600 blocks in 12.0 s, 50.0/s\n");
  bar.finish();
  bar.update(700);
  EXPECT_EQ(written_.size(), 3u);
}

TEST_F(Progress, TerminalRedrawsAtMostTenTimesASecond) {
  ProgressBar bar({"syncing", "blocks", 4'000}, clock_, output(true));
  for (std::uint64_t done = 1; done <= 1'000; ++done) {
    clock_.advance_ms(1);
    bar.update(done);
  }
  EXPECT_EQ(written_.size(), 10u);
  for (const auto& text : written_) EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_EQ(written_.back().substr(0, 4), "\r\x1b[K");
  EXPECT_EQ(last_line(),
            "syncing [#####...............] 25% 1,000/4,000 blocks, 1,000/s, 3.0 s left");
}

TEST_F(Progress, TerminalLineIsCutBeforeItWraps) {
  ProgressBar bar({"日本日本日本", "blocks", 100}, clock_, output(true, 10));
  clock_.advance_ms(100);
  bar.update(1);
  EXPECT_EQ(last_line(), "日本日本");  // 8 columns; a fifth character would need 10 of the 9 usable
}

TEST_F(Progress, UnknownTotalThenKnown) {
  ProgressBar bar({"reading", "files", std::nullopt}, clock_, output(false));
  clock_.advance_ms(5'000);
  bar.update(10);
  EXPECT_EQ(last_line(), "reading: 10 files, 2.0/s\n");
  bar.set_total(20);
  clock_.advance_ms(5'000);
  bar.update(15);
  EXPECT_EQ(last_line(), "reading: 75% 15/20 files, 1.5/s, 3.3 s left\n");
}

TEST_F(Progress, RateFollowsTheLastSecondsNotTheWholeJob) {
  ProgressBar bar({"syncing", "blocks", 1'000'000}, clock_, output(false));
  std::uint64_t done = 0;
  for (int i = 0; i < 100; ++i) clock_.advance_ms(1'000), bar.update(done += 1'000);
  for (int i = 0; i < 20; ++i) clock_.advance_ms(1'000), bar.update(done += 10);
  EXPECT_NE(last_line().find(", 10.0/s"), std::string::npos) << last_line();
}

TEST_F(Progress, RollbackAndAnOvershootAreShownAsTheyAre) {
  ProgressBar bar({"syncing", "blocks", 100}, clock_, output(false));
  clock_.advance_ms(5'000);
  bar.update(90);
  clock_.advance_ms(5'000);
  bar.update(40);
  EXPECT_EQ(last_line(), "syncing: 40% 40/100 blocks, 0.0/s\n");
  clock_.advance_ms(5'000);
  bar.update(140);  // the source grew meanwhile
  EXPECT_EQ(last_line(), "syncing: 100% 140/140 blocks, 20.0/s\n");
}

TEST_F(Progress, NothingToDo) {
  ProgressBar bar({"syncing", "blocks", 0}, clock_, output(true));
  bar.finish();
  EXPECT_EQ(last_line(), "syncing: 0 blocks in 0 ms\n");
}

TEST_F(Progress, AbandonedBarEndsItsLine) {
  {
    ProgressBar bar({"syncing", "blocks", 10}, clock_, output(true));
    clock_.advance_ms(200);
    bar.update(1);
  }
  EXPECT_EQ(written_.back(), "\n");
  written_.clear();
  {
    ProgressBar bar({"syncing", "blocks", 10}, clock_, output(true));
  }
  EXPECT_TRUE(written_.empty());
}

}  // namespace
}  // namespace coffer::cli
