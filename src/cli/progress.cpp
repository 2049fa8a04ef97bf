#include "cli/progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include <fmt/format.h>

#include "base/check.h"
#include "base/result.h"
#include "cli/table.h"

namespace coffer::cli {
namespace {

constexpr std::int64_t kRedrawMs = 100;
constexpr std::int64_t kPlainLineMs = 5'000;
constexpr std::int64_t kSampleMs = 500;
constexpr std::int64_t kWindowMs = 10'000;  // the rate is of this last stretch: a job may slow down
constexpr std::size_t kBarCells = 20;

std::string rate_text(double per_second) {
  if (per_second >= 100)
    return with_thousands(static_cast<std::uint64_t>(std::llround(per_second)));
  return fmt::format("{:.1f}", per_second);
}

// Cuts whole characters off until the text fits.
void cut_to(std::string& text, std::size_t columns) {
  while (display_width(text) > columns) {
    while (!text.empty() && (text.back() & 0xc0) == 0x80) text.pop_back();
    if (!text.empty()) text.pop_back();
  }
}

}  // namespace

ProgressOutput stderr_output() {
  ProgressOutput output;
  output.write = [](std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  };
  const char* term = std::getenv("TERM");
  output.terminal =
      ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  winsize size{};
  if (output.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    output.columns = size.ws_col;
  return output;
}

ProgressBar::ProgressBar(ProgressOptions options, const Clock& clock, ProgressOutput output)
    : options_(std::move(options)),
      clock_(clock),
      output_(std::move(output)),
      total_(options_.total),
      started_ms_(clock.steady_ms()),
      last_draw_ms_(started_ms_) {
  CHECK(output_.write != nullptr);
  samples_.push_back({started_ms_, 0});
}

ProgressBar::~ProgressBar() {
  if (drawn_ && !finished_) output_.write("\n");
}

void ProgressBar::update(std::uint64_t done) {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  done_ = done;
  const std::int64_t now_ms = clock_.steady_ms();
  take_sample(now_ms);
  if (now_ms - last_draw_ms_ >= (output_.terminal ? kRedrawMs : kPlainLineMs)) draw(now_ms);
}

void ProgressBar::set_total(std::uint64_t total) {
  std::lock_guard lock(mutex_);
  total_ = total;
}

void ProgressBar::finish() {
  std::lock_guard lock(mutex_);
  if (finished_) return;
  finished_ = true;
  const std::int64_t took_ms = clock_.steady_ms() - started_ms_;
  std::string text =
      fmt::format("{}: {} {} in {}", options_.label, with_thousands(done_), options_.unit,
                  human_duration_ms(static_cast<std::uint64_t>(took_ms)));
  if (took_ms > 0)
    text += fmt::format(
        ", {}/s", rate_text(static_cast<double>(done_) * 1000 / static_cast<double>(took_ms)));
  write_line(text, true);
}

void ProgressBar::take_sample(std::int64_t now_ms) {
  // A rollback moves done_ back: what was measured before it says nothing about the rate.
  if (done_ < samples_.back().done) {
    samples_.assign(1, {now_ms, done_});
    return;
  }
  if (now_ms - samples_.back().at_ms >= kSampleMs) samples_.push_back({now_ms, done_});
  while (samples_.size() > 2 && now_ms - samples_.front().at_ms > kWindowMs) samples_.pop_front();
}

double ProgressBar::recent_rate(std::int64_t now_ms) const {
  const Sample& first = samples_.front();
  if (now_ms <= first.at_ms) return 0;
  return static_cast<double>(done_ - first.done) * 1000 / static_cast<double>(now_ms - first.at_ms);
}

std::string ProgressBar::describe(std::int64_t now_ms) const {
  const double rate = recent_rate(now_ms);
  if (!total_)
    return fmt::format("{}: {} {}, {}/s", options_.label, with_thousands(done_), options_.unit,
                       rate_text(rate));

  const std::uint64_t total = std::max(*total_, done_);
  const double share = total == 0 ? 1.0 : static_cast<double>(done_) / static_cast<double>(total);
  std::string text = options_.label;
  if (output_.terminal) {
    const auto full = static_cast<std::size_t>(share * kBarCells);
    text += fmt::format(" [{}{}]", std::string(full, '#'), std::string(kBarCells - full, '.'));
  } else {
    text += ':';
  }
  // Rounded down: 100 % means done.
  text += fmt::format(" {}% {}/{} {}, {}/s", static_cast<unsigned>(share * 100),
                      with_thousands(done_), with_thousands(total), options_.unit, rate_text(rate));
  if (rate > 0 && total > done_) {
    const double left_ms = static_cast<double>(total - done_) * 1000 / rate;
    constexpr double kLongestMs = 1000.0 * 86'400'000;  // a thousand days: no estimate beyond
    if (left_ms < kLongestMs)
      text += fmt::format(", {} left", human_duration_ms(static_cast<std::uint64_t>(left_ms)));
  }
  return text;
}

void ProgressBar::draw(std::int64_t now_ms) {
  last_draw_ms_ = now_ms;
  write_line(describe(now_ms), false);
}

void ProgressBar::write_line(const std::string& text, bool last) {
  std::string line = printable(text);
  if (!output_.terminal) {
    output_.write(line + "\n");
    return;
  }
  // One column stays free: some terminals wrap as soon as the last one is written.
  cut_to(line, output_.columns > 1 ? output_.columns - 1 : 1);
  output_.write("\r\x1b[K" + line + (last ? "\n" : ""));
  drawn_ = !last;
}

}  // namespace coffer::cli
