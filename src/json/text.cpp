#include "json/text.h"

#include <boost/json/basic_parser_impl.hpp>
#include <boost/json/parse.hpp>
#include <charconv>

namespace coffer::json {
namespace {

// Takes part in checking a text, and keeps nothing of it.
struct Nothing {
  // NOLINTBEGIN(readability-identifier-naming): basic_parser looks for these names
  static constexpr std::size_t max_object_size = ~std::size_t{0};
  static constexpr std::size_t max_array_size = ~std::size_t{0};
  static constexpr std::size_t max_key_size = ~std::size_t{0};
  static constexpr std::size_t max_string_size = ~std::size_t{0};
  // NOLINTEND(readability-identifier-naming)
  using Error = boost::json::error_code;
  bool on_document_begin(Error&) { return true; }
  bool on_document_end(Error&) { return true; }
  bool on_object_begin(Error&) { return true; }
  bool on_object_end(std::size_t, Error&) { return true; }
  bool on_array_begin(Error&) { return true; }
  bool on_array_end(std::size_t, Error&) { return true; }
  bool on_key_part(boost::json::string_view, std::size_t, Error&) { return true; }
  bool on_key(boost::json::string_view, std::size_t, Error&) { return true; }
  bool on_string_part(boost::json::string_view, std::size_t, Error&) { return true; }
  bool on_string(boost::json::string_view, std::size_t, Error&) { return true; }
  bool on_number_part(boost::json::string_view, Error&) { return true; }
  bool on_int64(std::int64_t, boost::json::string_view, Error&) { return true; }
  bool on_uint64(std::uint64_t, boost::json::string_view, Error&) { return true; }
  bool on_double(double, boost::json::string_view, Error&) { return true; }
  bool on_bool(bool, Error&) { return true; }
  bool on_null(Error&) { return true; }
  bool on_comment_part(boost::json::string_view, Error&) { return true; }
  bool on_comment(boost::json::string_view, Error&) { return true; }
};

bool is_blank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

std::size_t skip_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

// Behind the string that begins there.
std::size_t skip_string(std::string_view text, std::size_t at) {
  std::size_t quote = text.find('"', ++at);
  for (;;) {
    const std::size_t escape = text.substr(0, quote).find('\\', at);
    if (escape == std::string_view::npos) return quote + 1;
    at = escape + 2;
    if (quote < at) quote = text.find('"', at);
  }
}

// Behind the value that begins there. The text is well-formed, so brackets need only be counted.
std::size_t skip_value(std::string_view text, std::size_t at) {
  if (text[at] == '"') return skip_string(text, at);
  if (text[at] != '[' && text[at] != '{') {
    while (at < text.size() && !is_blank(text[at]) && text[at] != ',' && text[at] != ']' &&
           text[at] != '}')
      ++at;
    return at;
  }
  std::size_t depth = 0;
  do {
    const char c = text[at];
    if (c == '"') {
      at = skip_string(text, at);
      continue;
    }
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    ++at;
  } while (depth > 0);
  return at;
}

}  // namespace

std::optional<Text> Text::parse(std::string_view text) {
  boost::json::basic_parser<Nothing> parser{boost::json::parse_options()};
  boost::json::error_code error;
  const std::size_t used = parser.write_some(false, text.data(), text.size(), error);
  if (error || used < text.size() || !parser.done()) return std::nullopt;
  text.remove_prefix(skip_blanks(text, 0));
  while (is_blank(text.back())) text.remove_suffix(1);
  return Text(text);
}

std::optional<Text> Text::find(std::string_view name) const {
  std::optional<Text> found;
  if (!is_object()) return found;
  for (std::size_t at = skip_blanks(text_, 1); text_[at] != '}';) {
    const std::size_t key_end = skip_string(text_, at);
    const Text key(text_.substr(at, key_end - at));
    const std::size_t colon = skip_blanks(text_, key_end);
    const std::size_t begin = skip_blanks(text_, colon + 1), end = skip_value(text_, begin);
    const auto plain = key.plain_string();
    if (plain ? *plain == name : key.string(name.size()) == name)
      found = Text(text_.substr(begin, end - begin));
    at = skip_blanks(text_, end);
    if (text_[at] == ',') at = skip_blanks(text_, at + 1);
  }
  return found;
}

void Text::for_each(const std::function<bool(Text)>& visit) const {
  if (!is_array()) return;
  for (std::size_t at = skip_blanks(text_, 1); text_[at] != ']';) {
    const std::size_t end = skip_value(text_, at);
    if (!visit(Text(text_.substr(at, end - at)))) return;
    at = skip_blanks(text_, end);
    if (text_[at] == ',') at = skip_blanks(text_, at + 1);
  }
}

std::optional<std::string_view> Text::plain_string() const {
  if (!is_string()) return std::nullopt;
  const std::string_view inner = text_.substr(1, text_.size() - 2);
  if (inner.find('\\') != std::string_view::npos) return std::nullopt;
  return inner;
}

std::optional<std::string> Text::string(std::size_t max_bytes) const {
  constexpr std::size_t kLongestEscape = 6;  // \u0061 for one byte
  if (!is_string() || text_.size() - 2 > kLongestEscape * max_bytes) return std::nullopt;
  std::string said;
  if (const auto plain = plain_string()) {
    said = *plain;
  } else {
    boost::json::error_code error;
    const boost::json::value value =
        boost::json::parse(boost::json::string_view(text_.data(), text_.size()), error);
    if (error) return std::nullopt;
    said = std::string(value.get_string());
  }
  if (said.size() > max_bytes) return std::nullopt;
  return said;
}

std::optional<std::int64_t> Text::integer() const {
  std::int64_t value = 0;
  const auto [stopped, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
  if (error != std::errc() || stopped != text_.data() + text_.size()) return std::nullopt;
  return value;
}

}  // namespace coffer::json
