// Structured logs: an event name and fields, one line each, on stderr. Secrets are never fields.
//   log::info("block applied", {{"number", n}, {"txs", count}});
// prints  2026-01-31T12:00:00.123Z info block applied number=17 txs=3   (or one JSON object a line)
#pragma once

#include <concepts>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/strong.h"

namespace coffer::log {

enum class Level { kTrace, kDebug, kInfo, kWarn, kError, kOff };
enum class Format { kText, kJson };

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
  Field(std::string_view k, T v) : key(k), value(fmt::format("{}", v)), is_text(false) {}
  template <typename Tag>
  Field(std::string_view k, StrongU64<Tag> v) : Field(k, v.value) {}
  // A number that may be absent is null then.
  template <typename T>
    requires std::integral<T> || std::floating_point<T>
  Field(std::string_view k, const std::optional<T>& v)
      : key(k), value(v ? fmt::format("{}", *v) : "null"), is_text(false) {}
};
using Fields = std::initializer_list<Field>;

struct Options {
  Level level = Level::kInfo;
  Format format = Format::kText;
};

// Call before threads start; the default is info, as text.
void configure(Options options);
Result<Level> parse_level(std::string_view name);

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

// The line that write() would print, without the time: for tests.
std::string render(Format format, std::string_view event, Fields fields);

}  // namespace coffer::log
