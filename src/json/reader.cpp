#include "json/reader.h"
#include "base/result.h"

#include <algorithm>
#include <boost/json.hpp>

namespace coffer::json {
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

Result<Value> parse(std::string_view text, const Limits& limits) {
  if (text.size() > limits.max_bytes)
    return fail(Code::kTooLarge, "{} bytes of JSON, at most {} are read", text.size(),
                limits.max_bytes);
  boost::json::error_code error;
  boost::json::parse_options options;
  options.max_depth = limits.max_depth;
  auto document = std::make_shared<const boost::json::value>(
      boost::json::parse({text.data(), text.size()}, error, {}, options));
  if (error) return fail(Code::kInvalidInput, "not JSON: {}", error.message());
  if (fields_written(text) != fields_kept(*document))
    return fail(Code::kInvalidInput, "a field is there twice");
  return Value(std::move(document));
}

Result<ObjectReader> ObjectReader::parse(std::string_view body,
                                         std::vector<std::string_view> known) {
  Value document = TRY_IN("the body", json::parse(body.empty() ? "{}" : body));
  if (!document.is_object()) return fail(Code::kInvalidInput, "the body must be a JSON object");
  return of(std::move(document), std::move(known));
}

Result<ObjectReader> ObjectReader::of(Value object, std::vector<std::string_view> known) {
  if (!object.is_object()) return fail(Code::kInvalidInput, "expected an object");
  for (const Member& member : object.members())
    if (std::ranges::find(known, member.name) == known.end())
      return fail(Code::kInvalidInput, "unknown field '{}'; known are {}",
                  std::string_view(member.name).substr(0, 100),
                  known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")));
  return ObjectReader(std::move(object));
}

std::optional<Value> ObjectReader::find(std::string_view name) const {
  auto value = object_.find(name);
  if (value && value->is_null()) value.reset();
  return value;
}

Result<std::optional<std::string>> ObjectReader::text_if(std::string_view name) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  auto text = value->string();
  if (!text) return fail(Code::kInvalidInput, "{}: expected a string", name);
  return text;
}

Result<std::string> ObjectReader::text(std::string_view name) const {
  auto found = TRY(text_if(name));
  if (!found) return fail(Code::kInvalidInput, "{}: missing; expected a string", name);
  return *std::move(found);
}

Result<std::optional<std::uint64_t>> ObjectReader::whole_if(std::string_view name,
                                                            std::uint64_t min,
                                                            std::uint64_t max) const {
  const auto value = find(name);
  if (!value) return std::nullopt;
  const auto number = value->uint64();
  if (!number || *number < min || *number > max)
    return fail(Code::kInvalidInput, "{}: expected a whole number from {} to {}", name, min, max);
  return number;
}

Result<bool> ObjectReader::flag(std::string_view name) const {
  const auto value = find(name);
  if (!value) return false;
  const auto flag = value->boolean();
  if (!flag) return fail(Code::kInvalidInput, "{}: expected true or false", name);
  return *flag;
}

Result<std::vector<Value>> ObjectReader::list(std::string_view name, std::string_view element,
                                              std::size_t max) const {
  const auto value = find(name);
  if (!value || !value->is_array() || value->size() == 0)
    return fail(Code::kInvalidInput, "{}: expected a list of {}", name, element);
  if (value->size() > max)
    return fail(Code::kTooLarge, "{}: {} at once, the most is {}", name, value->size(), max);
  return value->elements();
}

}  // namespace coffer::json
