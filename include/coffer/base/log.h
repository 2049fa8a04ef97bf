// Structured logs: an event name and fields. Secrets are never fields.
//   log::info("block applied", {{"number", n}, {"txs", count}});
// They go to the sink that the program sets, and nowhere if it sets none.
#pragma once

#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <coffer/base/strong.h>

namespace coffer::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError, kOff };

std::string number_text(double value);
template <std::integral T>
std::string number_text(T value) {
  return std::to_string(value);
}

// A value of one field; text is quoted as needed when written.
struct Field {
  std::string_view key;
  std::string value;
  bool is_text = true;

  Field(std::string_view k, std::string_view v) : key(k), value(v) {}
  Field(std::string_view k, const char* v) : key(k), value(v) {}
  Field(std::string_view k, const std::string& v) : key(k), value(v) {}
  Field(std::string_view k, bool v) : key(k), value(v ? "true" : "false"), is_text(false) {}
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Field(std::string_view k, T v) : key(k), value(number_text(v)), is_text(false) {}
  template <typename Tag>
  Field(std::string_view k, StrongU64<Tag> v) : Field(k, v.value) {}
  // A number that may be absent is null then.
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Field(std::string_view k, const std::optional<T>& v)
      : key(k), value(v ? number_text(*v) : "null"), is_text(false) {}
};
using Fields = std::initializer_list<Field>;

// What becomes of an event. Called from any thread.
using Write = std::function<void(Level level, std::string_view event, std::span<const Field>)>;
// Events of this level and above go to `write`; an empty one ends it. Before threads start.
void set_sink(Level level, Write write);

// Thread-safe.
bool enabled(Level level);
void write(Level level, std::string_view event, Fields fields);

inline void debug(std::string_view event, Fields fields = {}) {
  write(Level::kDebug, event, fields);
}
inline void info(std::string_view event, Fields fields = {}) {
  write(Level::kInfo, event, fields);
}
inline void warn(std::string_view event, Fields fields = {}) {
  write(Level::kWarn, event, fields);
}
inline void error(std::string_view event, Fields fields = {}) {
  write(Level::kError, event, fields);
}

}  // namespace coffer::log
