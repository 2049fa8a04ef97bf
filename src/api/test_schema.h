// For the tests of api: whether an answer is what /openapi.json declares.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <set>

namespace coffer::api {

inline std::set<std::string> keys_of(const boost::json::value& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.as_object()) keys.insert(std::string(key));
  return keys;
}

// Every field is declared and has a declared type; nothing is missing.
inline void expect_fits(const boost::json::value& value, const boost::json::value& schema) {
  namespace json = boost::json;
  std::set<std::string> required;
  for (const auto& name : schema.at("required").as_array())
    required.insert(std::string(name.as_string()));
  EXPECT_EQ(keys_of(value), required);
  for (const auto& [key, field] : value.as_object()) {
    const json::value& declared = schema.at("properties").at(key);
    if (!declared.as_object().contains("type")) continue;  // a reference
    const json::value& type = declared.at("type");
    const std::string actual = field.is_null()     ? "null"
                               : field.is_bool()   ? "boolean"
                               : field.is_string() ? "string"
                               : field.is_array()  ? "array"
                               : field.is_object() ? "object"
                                                   : "integer";
    const bool fits = type.is_string()
                          ? type.as_string() == actual
                          : std::ranges::any_of(type.as_array(), [&](const json::value& one) {
                              return one.as_string() == actual;
                            });
    EXPECT_TRUE(fits) << key << " is " << actual << ", declared " << type;
  }
}

// The status is one that the operation of this path declares.
inline void expect_declared(const boost::json::value& openapi, std::string_view method,
                            std::string_view target, int status) {
  const auto fits = [path = target.substr(0, target.find('?'))](std::string_view pattern) {
    std::string_view rest = path;
    while (!pattern.empty() && !rest.empty()) {
      const bool is_parameter = pattern.front() == '{';
      if (!is_parameter && pattern.front() != rest.front()) return false;
      pattern.remove_prefix(is_parameter ? pattern.find('}') + 1 : 1);
      rest.remove_prefix(is_parameter ? std::min(rest.find('/'), rest.size()) : 1);
    }
    return pattern.empty() && rest.empty();
  };
  std::string name(method);
  for (char& c : name) c = static_cast<char>(std::tolower(c));
  for (const auto& [pattern, methods] : openapi.at("paths").as_object()) {
    if (!fits(pattern) || !methods.as_object().contains(name)) continue;
    const auto& responses = methods.at(name).at("responses").as_object();
    if (responses.contains(std::to_string(status))) return;
    if (status < 500) ADD_FAILURE() << method << ' ' << pattern << " does not declare " << status;
    return;
  }
}

}  // namespace coffer::api
