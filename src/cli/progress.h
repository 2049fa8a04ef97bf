// How far a long job is: one redrawn line on a terminal, a plain line now and then elsewhere.
// Invariant: output is bounded by time, not by the number of updates.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include <coffer/base/clock.h>

namespace coffer::cli {

// Where progress is written, and how.
struct ProgressOutput {
  std::function<void(std::string_view)> write;
  bool terminal = false;     // redraw one line instead of adding lines
  std::size_t columns = 80;  // of the terminal; longer lines are cut
};

// Standard error, as it is now: a terminal of some width, or a file or pipe.
ProgressOutput stderr_output();

struct ProgressOptions {
  std::string label;                   // "syncing"
  std::string unit = "blocks";         // what is counted
  std::optional<std::uint64_t> total;  // nothing when it is not known
};

// Thread-safe. On a terminal at most 10 redraws a second; elsewhere a line every 5 seconds and one
// at the end.
class ProgressBar {
 public:
  ProgressBar(ProgressOptions options, const Clock& clock, ProgressOutput output);
  // Ends the line if finish() was not called, for instance after an error.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // So many are done; cheap enough for every item of a fast loop (a lock and a clock read).
  void update(std::uint64_t done);
  // The goal has become known or has moved.
  void set_total(std::uint64_t total);
  // The last line, with the average rate of the whole job. Later calls do nothing.
  void finish();

 private:
  struct Sample {
    std::int64_t at_ms;
    std::uint64_t done;
  };

  void take_sample(std::int64_t now_ms);
  double recent_rate(std::int64_t now_ms) const;  // per second
  std::string describe(std::int64_t now_ms) const;
  void draw(std::int64_t now_ms);
  void write_line(const std::string& text, bool last);

  std::mutex mutex_;
  const ProgressOptions options_;
  const Clock& clock_;
  const ProgressOutput output_;
  std::optional<std::uint64_t> total_;
  std::uint64_t done_ = 0;
  const std::int64_t started_ms_;
  std::int64_t last_draw_ms_;
  bool drawn_ = false;  // a terminal line is open
  bool finished_ = false;
  std::deque<Sample> samples_;  // the last ten seconds, at most two a second
};

}  // namespace coffer::cli
