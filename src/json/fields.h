// A struct whose fields are named once, in a function visit_fields(visitor, object) beside it;
// writing it as JSON, reading it back and its JSON Schema follow from that list. Fields are texts,
// flags, whole numbers, such structs, and optional values and vectors of them. A struct that stands
// within another names its schema in a member kSchema.
#pragma once

#include <concepts>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/result.h"
#include "json/reader.h"
#include "json/writer.h"

namespace coffer::json {

// For visit_fields(), which takes const objects and others.
template <typename T, typename Object>
concept FieldsOf = std::same_as<std::remove_const_t<T>, Object>;

template <typename T>
concept Scalar = std::integral<T> || std::same_as<T, std::string>;

struct FieldsWriter {
  Writer out;

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    out.key(key);
    write(value);
  }
  template <Scalar T>
  void write(const T& value) {
    out.value(value);
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    if (value)
      write(*value);
    else
      out.null();
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    out.begin_array();
    for (const T& value : values) write(value);
    out.end_array();
  }
  template <typename T>
    requires(!Scalar<T>)
  void write(const T& object) {
    out.begin_object();
    visit_fields(*this, object);
    out.end_object();
  }
};

// Stops at the first field that is missing or of another type, and names it in `fault`.
struct FieldsReader {
  Value object;
  std::string& fault;

  template <typename T>
  void operator()(std::string_view key, T& value) {
    if (!fault.empty()) return;
    const auto found = object.find(key);
    if (!found)
      fault = std::string(key) + " is missing";
    else if (!read(*found, value) && fault.empty())
      fault = std::string(key) + " is of another type";
  }
  bool read(const Value& from, std::string& to) { return take(from.string(), to); }
  bool read(const Value& from, bool& to) { return take(from.boolean(), to); }
  template <std::signed_integral T>
  bool read(const Value& from, T& to) {
    return take(from.int64(), to);
  }
  template <std::unsigned_integral T>
  bool read(const Value& from, T& to) {
    return take(from.uint64(), to);
  }
  template <typename T>
  bool read(const Value& from, std::optional<T>& to) {
    to.reset();
    return from.is_null() || read(from, to.emplace());
  }
  template <typename T>
  bool read(const Value& from, std::vector<T>& to) {
    if (!from.is_array()) return false;
    for (const Value& item : from.elements())
      if (!read(item, to.emplace_back())) return false;
    return true;
  }
  template <typename T>
    requires(!Scalar<T>)
  bool read(const Value& from, T& to) {
    if (!from.is_object()) return false;
    FieldsReader inner{from, fault};
    visit_fields(inner, to);
    return fault.empty();
  }

 private:
  template <typename From, typename T>
  static bool take(std::optional<From> from, T& to) {
    if (!from) return false;
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
      if (!std::in_range<T>(*from)) return false;
    to = static_cast<T>(*std::move(from));
    return true;
  }
};

struct FieldsSchema {
  Writer out;
  std::vector<std::string> names;

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    names.emplace_back(key);
    out.key(key);
    describe(value);
  }
  void describe(const std::string&) { out.raw(R"({"type":"string"})"); }
  void describe(bool) { out.raw(R"({"type":"boolean"})"); }
  template <std::integral T>
  void describe(T) {
    out.raw(R"({"type":"integer","format":"int64"})");
  }
  template <typename T>
  void describe(const std::optional<T>&) {
    out.begin_object().key("oneOf").begin_array();
    describe(T{});
    out.raw(R"({"type":"null"})").end_array().end_object();
  }
  template <typename T>
  void describe(const std::vector<T>&) {
    out.begin_object().field("type", "array").key("items");
    describe(T{});
    out.end_object();
  }
  template <typename T>
    requires(!Scalar<T>)
  void describe(const T&) {
    refer(T::kSchema);
  }
  void refer(std::string_view schema) {
    out.begin_object().field("$ref", "#/components/schemas/" + std::string(schema)).end_object();
  }
};

// The names of the fields, in their order.
struct FieldNames {
  std::vector<std::string> names;

  template <typename T>
  void operator()(std::string_view key, const T&) {
    names.emplace_back(key);
  }
};

// All are thread-safe.
template <typename T>
std::string write_fields(const T& object) {
  FieldsWriter writer;
  writer.write(object);
  return writer.out.take();
}

// Fields that are not named are passed over. Errors: kCorrupt naming the field.
template <typename T>
Result<T> read_fields(const Value& value) {
  T object;
  std::string fault;
  if (FieldsReader{value, fault}.read(value, object)) return object;
  return fail(make_error(Code::kCorrupt, fault.empty() ? "no object" : fault));
}

// Those of T itself, not of structs within it.
template <typename T>
std::vector<std::string> names_of_fields() {
  FieldNames visitor;
  const T object{};
  visit_fields(visitor, object);
  return std::move(visitor.names);
}

// Every field is required; `more` may add others.
template <typename T>
std::string schema_of_fields(const std::function<void(FieldsSchema&)>& more = {}) {
  FieldsSchema schema;
  schema.out.begin_object().field("type", "object").key("properties").begin_object();
  const T object{};
  visit_fields(schema, object);
  if (more) more(schema);
  schema.out.end_object().key("required").begin_array();
  for (const std::string& required : schema.names) schema.out.value(required);
  schema.out.end_array().end_object();
  return schema.out.take();
}

}  // namespace coffer::json
