#include <coffer/base/log.h>
#include "base/result.h"

#include <fmt/format.h>

namespace coffer::log {
namespace {

Level g_level = Level::kOff;
Write g_write;

}  // namespace

std::string number_text(double value) {
  return fmt::format("{}", value);
}

void set_sink(Level level, Write write) {
  g_level = write ? level : Level::kOff;
  g_write = std::move(write);
}

bool enabled(Level level) {
  return level >= g_level && g_level != Level::kOff;
}

void write(Level level, std::string_view event, Fields fields) {
  if (enabled(level)) g_write(level, event, std::span(fields.begin(), fields.size()));
}

}  // namespace coffer::log
