#include "json/value.h"

#include <algorithm>
#include <boost/json.hpp>

namespace coffer::json {
namespace {

// Depth is bounded by the parser.
void append_sorted(std::string& out, const boost::json::value& value) {
  if (const auto* object = value.if_object()) {
    std::vector<const boost::json::key_value_pair*> pairs;
    for (const auto& pair : *object) pairs.push_back(&pair);
    std::sort(pairs.begin(), pairs.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
    out += '{';
    for (const auto* pair : pairs) {
      if (out.back() != '{') out += ',';
      out += boost::json::serialize(boost::json::string(pair->key())) + ":";
      append_sorted(out, pair->value());
    }
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (const boost::json::value& item : *array) {
      if (out.back() != '[') out += ',';
      append_sorted(out, item);
    }
    out += ']';
  } else {
    out += boost::json::serialize(value);
  }
}

}  // namespace

bool Value::is_null() const {
  return value_->is_null();
}
bool Value::is_array() const {
  return value_->is_array();
}
bool Value::is_object() const {
  return value_->is_object();
}

std::optional<bool> Value::boolean() const {
  if (!value_->is_bool()) return std::nullopt;
  return value_->get_bool();
}

std::optional<std::string> Value::string() const {
  if (!value_->is_string()) return std::nullopt;
  return std::string(value_->get_string());
}

std::optional<std::int64_t> Value::int64() const {
  if (!value_->is_int64()) return std::nullopt;  // uint64 is only what is beyond it
  return value_->get_int64();
}

std::optional<std::uint64_t> Value::uint64() const {
  if (value_->is_double()) return std::nullopt;
  return whole_number();
}

std::optional<std::uint64_t> Value::whole_number() const {
  boost::json::error_code error;
  const auto number = value_->to_number<std::uint64_t>(error);
  if (error) return std::nullopt;
  return number;
}

std::optional<double> Value::number() const {
  boost::json::error_code error;
  const auto number = value_->to_number<double>(error);
  if (error) return std::nullopt;
  return number;
}

std::size_t Value::size() const {
  if (const auto* array = value_->if_array()) return array->size();
  if (const auto* object = value_->if_object()) return object->size();
  return 0;
}

std::vector<Value> Value::elements() const {
  std::vector<Value> all;
  all.reserve(size());
  if (const auto* array = value_->if_array())
    for (const boost::json::value& element : *array) all.push_back(within(element));
  return all;
}

std::vector<Member> Value::members() const {
  std::vector<Member> all;
  all.reserve(size());
  if (const auto* object = value_->if_object())
    for (const auto& [name, value] : *object) all.push_back({std::string(name), within(value)});
  return all;
}

std::optional<Value> Value::find(std::string_view name) const {
  const auto* object = value_->if_object();
  const auto* found = object == nullptr ? nullptr : object->if_contains(name);
  if (found == nullptr) return std::nullopt;
  return within(*found);
}

std::optional<Value> Value::find_pointer(std::string_view pointer) const {
  boost::json::error_code error;
  const boost::json::value* found = value_->find_pointer(pointer, error);
  if (found == nullptr) return std::nullopt;
  return within(*found);
}

std::string Value::serialize() const {
  return boost::json::serialize(*value_);
}

std::string Value::serialize_sorted() const {
  std::string out;
  append_sorted(out, *value_);
  return out;
}

}  // namespace coffer::json
