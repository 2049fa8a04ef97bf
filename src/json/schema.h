// Pieces of JSON Schema, for those that describe what routes answer and read. Thread-safe.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/writer.h"

namespace coffer::json::schema {

using Properties = std::vector<std::pair<std::string_view, std::string>>;

inline const std::string kText = R"({"type":"string"})";
inline const std::string kTextOrNull = R"({"type":["string","null"]})";
inline const std::string kWhole = R"({"type":"integer","format":"int64","minimum":0})";
inline const std::string kWholeOrNull =
    R"({"type":["integer","null"],"format":"int64","minimum":0})";
inline const std::string kFlag = R"({"type":"boolean"})";
inline const std::string kAmount = R"({"type":"string","pattern":"^[0-9]+$"})";
inline const std::string kAmountOrNull = R"({"type":["string","null"],"pattern":"^[0-9]+$"})";
inline const std::string kHex = R"({"type":"string","pattern":"^([0-9a-f]{2})*$"})";
inline const std::string kHexOrNull = R"({"type":["string","null"],"pattern":"^([0-9a-f]{2})*$"})";
inline const std::string kHash = R"({"type":"string","pattern":"^[0-9a-f]{64}$"})";
inline const std::string kHashOrNull = R"({"type":["string","null"],"pattern":"^[0-9a-f]{64}$"})";

// Closed: no other properties than these.
inline std::string object_of(const Properties& properties,
                             const std::vector<std::string_view>& required, bool closed) {
  Writer out;
  out.begin_object().field("type", "object").key("required").begin_array();
  for (const std::string_view name : required) out.value(name);
  out.end_array().key("properties").begin_object();
  for (const auto& [name, schema] : properties) out.key(name).raw(schema);
  out.end_object();
  if (closed) out.field("additionalProperties", false);
  out.end_object();
  return out.take();
}

// Of an answer every property is always there.
inline std::string answer(const Properties& properties) {
  std::vector<std::string_view> all;
  for (const auto& [name, schema] : properties) all.push_back(name);
  return object_of(properties, all, false);
}

inline std::string list_of(const std::string& item) {
  return fmt::format(R"({{"type":"array","items":{}}})", item);
}

inline std::string refer(std::string_view schema) {
  return fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", schema);
}

}  // namespace coffer::json::schema
