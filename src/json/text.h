// JSON read where it stands: a node's answer may have 64 MB, and a tree of it 25 times as many.
// Nothing is copied or built. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace coffer::json {

// One well-formed value within a text that must outlive it. Thread-safe.
class Text {
 public:
  // The whole text as one value; nothing if it is not JSON (RFC 8259, UTF-8, up to 32 levels deep).
  // Cost: one pass.
  static std::optional<Text> parse(std::string_view text);
  // Text that parse() has found to be one value, or a value of it.
  static Text of_checked(std::string_view text) { return Text(text); }

  std::string_view text() const { return text_; }
  bool is_null() const { return text_ == "null"; }
  bool is_string() const { return text_.front() == '"'; }
  bool is_array() const { return text_.front() == '['; }
  bool is_object() const { return text_.front() == '{'; }

  // The member of an object, the last of that name; nothing if this is none or has none.
  // Cost: one pass.
  std::optional<Text> find(std::string_view name) const;
  // The elements of an array in order, until `visit` returns false; none if it is none.
  void for_each(const std::function<bool(Text)>& visit) const;

  // What a string says, up to `max_bytes` of it; nothing if it is none or longer. Copies only that.
  std::optional<std::string> string(std::size_t max_bytes) const;
  // The characters of a string in place; nothing if it is none, or has escapes among them.
  std::optional<std::string_view> plain_string() const;
  // Nothing if it is no whole number, or beyond 64 bits.
  std::optional<std::int64_t> integer() const;

 private:
  explicit Text(std::string_view text) : text_(text) {}

  std::string_view text_;  // without blanks around it, never empty
};

}  // namespace coffer::json
