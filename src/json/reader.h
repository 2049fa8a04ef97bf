// JSON from outside: bounded in size and depth, and a field that is there twice is a mistake and
// not a choice. The one reader of documents in the program; json/text.h is for answers that are too
// large for a tree.
#pragma once

#include "base/result.h"
#include "json/value.h"

namespace coffer::json {

struct Limits {
  std::size_t max_bytes = 16u << 20;
  std::size_t max_depth = 32;
};

// A whole text as one value. Thread-safe. Cost: linear, about 25 bytes of memory for each of the
// text. Errors: kInvalidInput: no JSON (RFC 8259), nested deeper, or an object that has a name
// twice; kTooLarge.
Result<Value> parse(std::string_view text, const Limits& limits = {});

// The fields of an object that may have known ones only. A field that is unknown, missing, of
// another type or out of its range is an error that names it; one that is null counts as absent.
// Thread-safe. Errors: kInvalidInput, where nothing else is said.
class ObjectReader {
 public:
  // The body of a request; an empty one stands for {}. Errors: also kTooLarge.
  static Result<ObjectReader> parse(std::string_view body, std::vector<std::string_view> known);
  // An object within another document.
  static Result<ObjectReader> of(Value object, std::vector<std::string_view> known);

  std::optional<Value> find(std::string_view name) const;
  Result<std::optional<std::string>> text_if(std::string_view name) const;
  Result<std::string> text(std::string_view name) const;
  // Both bounds belong to the range.
  Result<std::optional<std::uint64_t>> whole_if(std::string_view name, std::uint64_t min,
                                                std::uint64_t max) const;
  // false if it is absent.
  Result<bool> flag(std::string_view name) const;
  // A list of 1 to `max` elements; `element` shows one in the error. Errors: also kTooLarge.
  Result<std::vector<Value>> list(std::string_view name, std::string_view element,
                                  std::size_t max) const;

 private:
  explicit ObjectReader(Value object) : object_(std::move(object)) {}

  Value object_;
};

}  // namespace coffer::json
