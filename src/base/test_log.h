// For tests: what is logged while it lives, as the program would print it.
#pragma once

#include <mutex>
#include <string>

#include "base/log_stderr.h"

namespace coffer {

class LogCapture {
 public:
  LogCapture() {
    log::set_sink(log::Level::kInfo,
                  [this](log::Level, std::string_view event, std::span<const log::Field> fields) {
                    std::lock_guard lock(mutex_);
                    text_ += " " + log::render(log::Format::kText, event, fields) + "\n";
                  });
  }
  ~LogCapture() { log::set_sink(log::Level::kOff, {}); }
  LogCapture(const LogCapture&) = delete;
  LogCapture& operator=(const LogCapture&) = delete;

  std::string text() const {
    std::lock_guard lock(mutex_);
    return text_;
  }

 private:
  mutable std::mutex mutex_;
  std::string text_;
};

}  // namespace coffer
