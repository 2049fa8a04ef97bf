// Writes JSON straight into a string: no tree, no exceptions.
// Invariant: the text is valid UTF-8 whatever bytes the strings hold; bad ones become U+FFFD.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::json {

// `text` as a JSON string with its quotes.
void append_string(std::string& out, std::string_view text);

// Calls must nest as the document does; commas come by themselves. Not thread-safe.
class Writer {
 public:
  Writer& begin_object() { return open('{'); }
  Writer& end_object() { return close('}'); }
  Writer& begin_array() { return open('['); }
  Writer& end_array() { return close(']'); }
  Writer& key(std::string_view name);

  Writer& value(std::string_view text);
  Writer& value(const char* text) { return value(std::string_view(text)); }
  Writer& value(const std::string& text) { return value(std::string_view(text)); }
  Writer& value(bool flag) { return raw(flag ? "true" : "false"); }
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Writer& value(T number) {
    return raw(std::to_string(number));
  }
  Writer& null() { return raw("null"); }
  // A value that is JSON already.
  Writer& raw(std::string_view json);

  template <typename T>
  Writer& field(std::string_view name, const T& v) {
    return key(name).value(v);
  }

  std::string take() { return std::move(out_); }

 private:
  Writer& open(char bracket);
  Writer& close(char bracket);
  void separate();

  std::string out_;
  std::vector<bool> has_items_;  // one for each open bracket
  bool after_key_ = false;
};

}  // namespace coffer::json
