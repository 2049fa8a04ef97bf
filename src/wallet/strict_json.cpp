#include "wallet/strict_json.h"

#include <boost/json.hpp>

namespace coffer::wallet {
namespace {

namespace json = boost::json;

// Of a document that was parsed, which keeps the last of two fields with one name.
std::size_t fields_kept(const json::value& value) {
  std::size_t count = 0;
  if (const json::object* object = value.if_object())
    for (const auto& [key, field] : *object) count += 1 + fields_kept(field);
  if (const json::array* array = value.if_array())
    for (const json::value& item : *array) count += fields_kept(item);
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

Result<json::value> parse_strict_json(std::string_view text, std::size_t max_depth) {
  json::error_code error;
  json::parse_options limits;
  limits.max_depth = max_depth;
  json::value document = json::parse({text.data(), text.size()}, error, {}, limits);
  if (error) return fail(Code::kInvalidInput, "not JSON: {}", error.message());
  if (fields_written(text) != fields_kept(document))
    return fail(Code::kInvalidInput, "a field is there twice");
  return document;
}

}  // namespace coffer::wallet
