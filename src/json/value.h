// A JSON value as json::parse() reads it. Asking for another type than it has gives nothing, so
// that each caller says in its own words what it expected; nothing throws.
// Boost.JSON is behind it: a file outside src/json that needs JSON includes this one.
#pragma once

#include <boost/json/fwd.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace coffer::json {

struct Member;

// A value within a document, which lives as long as any value of it does. Never changes, cheap to
// copy. Thread-safe. Cost: constant, where nothing else is said.
class Value {
 public:
  explicit Value(std::shared_ptr<const boost::json::value> value) : value_(std::move(value)) {}

  bool is_null() const;
  bool is_array() const;
  bool is_object() const;

  std::optional<bool> boolean() const;
  std::optional<std::string> string() const;
  // Of a number without fraction and exponent; nothing if it does not fit.
  std::optional<std::int64_t> int64() const;
  std::optional<std::uint64_t> uint64() const;
  // The same, but 5.0 and 5e0 are 5, as JSON Schema sees it.
  std::optional<std::uint64_t> whole_number() const;
  // Of any number, rounded.
  std::optional<double> number() const;

  // How many elements an array or members an object has; 0 for others.
  std::size_t size() const;
  // In their order; none for others than arrays. Cost: linear in their number.
  std::vector<Value> elements() const;
  // In their order; none for others than objects. Cost: linear in their number.
  std::vector<Member> members() const;
  // The member of an object; nothing if this is none or has none.
  std::optional<Value> find(std::string_view name) const;
  // The value at "/member/of/member" (RFC 6901).
  std::optional<Value> find_pointer(std::string_view pointer) const;

  // As text without blanks. Cost: linear in the size.
  std::string serialize() const;
  // The same with the members of every object sorted by name.
  std::string serialize_sorted() const;

 private:
  Value within(const boost::json::value& part) const { return Value({value_, &part}); }

  std::shared_ptr<const boost::json::value> value_;  // never null
};

struct Member {
  std::string name;
  Value value;
};

}  // namespace coffer::json
