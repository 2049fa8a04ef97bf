// What goes into a statement and what comes out of a row, the same on SQLite and PostgreSQL.
// Invariant: five kinds of values and no conversion between them: a number is never read as text.
// A boolean is 0 or 1 on SQLite; text is UTF-8 without NUL on both.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <coffer/base/bytes.h>
#include <coffer/base/strong.h>
#include <coffer/sql/database.h>

namespace coffer::sql {

std::string_view name_of(Dialect dialect);  // "sqlite", "postgres"

// A parameter. Views what it was made from, so use it where it is made: in the argument list.
class Param {
 public:
  using Value = std::variant<std::monostate, std::int64_t, bool, std::string_view, ByteView>;

  Param(std::nullptr_t) {}                         // NOLINT(google-explicit-constructor)
  Param(std::nullopt_t) {}                         // NOLINT(google-explicit-constructor)
  Param(std::same_as<bool> auto v) : value_(v) {}  // NOLINT(google-explicit-constructor)
  template <std::integral T>
    requires(!std::same_as<T, bool> && (std::signed_integral<T> || sizeof(T) < 8))
  Param(T v) : value_(static_cast<std::int64_t>(v)) {}  // NOLINT(google-explicit-constructor)
  // Above the range of SQL's integers the statement fails with kInvalidInput.
  Param(std::uint64_t v);                                // NOLINT(google-explicit-constructor)
  Param(const char* v) : value_(std::string_view(v)) {}  // NOLINT(google-explicit-constructor)
  Param(std::string_view v) : value_(v) {}               // NOLINT(google-explicit-constructor)
  Param(const std::string& v) : value_(std::string_view(v)) {}  // NOLINT
  Param(ByteView v) : value_(v) {}                // NOLINT(google-explicit-constructor)
  Param(const Bytes& v) : value_(ByteView(v)) {}  // NOLINT(google-explicit-constructor)
  template <std::size_t N, typename Tag>
  Param(const FixedBytes<N, Tag>& v) : value_(v.view()) {}  // NOLINT
  template <typename Tag>
  Param(StrongU64<Tag> v) : Param(v.value) {}  // NOLINT(google-explicit-constructor)
  template <typename T>
  Param(const std::optional<T>& v)  // NOLINT(google-explicit-constructor)
      : Param(v ? Param(*v) : Param(nullptr)) {}

  const Value& value() const { return value_; }
  bool too_large() const { return too_large_; }

 private:
  Value value_;
  bool too_large_ = false;
};

// The parameters of one statement, $1 first: {a, b, c} or a vector of them.
class Params {
 public:
  Params() = default;
  Params(std::initializer_list<Param> list) { view_ = {std::data(list), list.size()}; }
  Params(std::span<const Param> view) : view_(view) {}     // NOLINT
  Params(const std::vector<Param>& list) : view_(list) {}  // NOLINT
  std::size_t size() const { return view_.size(); }
  const Param& operator[](std::size_t index) const { return view_[index]; }
  const Param* begin() const { return view_.data(); }
  const Param* end() const { return view_.data() + view_.size(); }

 private:
  std::span<const Param> view_;
};

inline constexpr std::size_t kMaxParams = 256;
inline constexpr std::size_t kMaxValueBytes = 512u << 20;  // both engines end below a gigabyte

// Errors: kInvalidInput for text that is no UTF-8 or holds a NUL, for an integer out of range;
// kTooLarge for a value above kMaxValueBytes, kInternal for too many parameters.
Result<> check(const Params& params);

// One field of the current row, as the database gave it.
struct Cell {
  enum class Kind : std::uint8_t { kNull, kInteger, kBool, kText, kBytes, kOther };
  Kind kind = Kind::kNull;
  std::int64_t integer = 0;  // of kInteger and kBool
  ByteView data = {};        // of kText and kBytes; valid while the row is the current one
};

}  // namespace coffer::sql
