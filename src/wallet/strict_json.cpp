#include "wallet/strict_json.h"

#include <boost/json.hpp>

namespace coffer::wallet {
namespace {

// Of a document that was parsed, which keeps the last of two fields with one name.
std::size_t fields_kept(const boost::json::value& value) {
  std::size_t count = 0;
  if (const boost::json::object* object = value.if_object())
    for (const auto& [key, field] : *object) count += 1 + fields_kept(field);
  if (const boost::json::array* array = value.if_array())
    for (const boost::json::value& item : *array) count += fields_kept(item);
  return count;
}
// In its text: every field has a colon, and no colon is elsewhere but in strings.
std::size_t fields_written(std::string_view text) {
  std::size_t count = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') ++i;
    if (!in_string && text[i] == ':') ++count;
  }
  return count;
}

}  // namespace

Result<boost::json::value> parse_strict_json(std::string_view text, std::size_t max_depth) {
  boost::json::error_code error;
  boost::json::parse_options limits;
  limits.max_depth = max_depth;
  boost::json::value document = boost::json::parse({text.data(), text.size()}, error, {}, limits);
  if (error) return fail(Code::kInvalidInput, "not JSON: {}", error.message());
  if (fields_written(text) != fields_kept(document))
    return fail(Code::kInvalidInput, "a field is there twice");
  return document;
}

}  // namespace coffer::wallet
