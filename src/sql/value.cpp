#include "sql/value.h"
#include "base/result.h"

#include <limits>

namespace coffer::sql {
namespace {

// How many bytes the character at `at` has, 0 if it is none: as PostgreSQL judges (RFC 3629, no
// NUL).
std::size_t utf8_length(const std::uint8_t* at, std::size_t left) {
  const std::uint8_t first = at[0];
  if (first < 0x80) return first != 0 ? 1 : 0;
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > left) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((at[i] & 0xc0) != 0x80) return 0;
  if (first == 0xe0 && at[1] < 0xa0) return 0;   // longer than needed
  if (first == 0xed && at[1] >= 0xa0) return 0;  // surrogates
  if (first == 0xf0 && at[1] < 0x90) return 0;
  if (first == 0xf4 && at[1] >= 0x90) return 0;  // above U+10FFFF
  return length;
}

bool is_text(std::string_view text) {
  const auto* at = reinterpret_cast<const std::uint8_t*>(text.data());
  for (std::size_t left = text.size(); left > 0;) {
    const std::size_t length = utf8_length(at, left);
    if (length == 0) return false;
    at += length;
    left -= length;
  }
  return true;
}

}  // namespace

std::string_view name_of(Dialect dialect) {
  return dialect == Dialect::kSqlite ? "sqlite" : "postgres";
}

Param::Param(std::uint64_t v)
    : value_(static_cast<std::int64_t>(v)),
      too_large_(v > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {}

Result<> check(const Params& params) {
  if (params.size() > kMaxParams)
    return fail(Code::kInternal, "a statement has {} parameters, more than {}", params.size(),
                kMaxParams);
  for (std::size_t i = 0; i < params.size(); ++i) {
    if (params[i].too_large())
      return fail(Code::kInvalidInput, "a number does not fit into 63 bits (parameter {})", i + 1);
    const auto* text = std::get_if<std::string_view>(&params[i].value());
    const auto* bytes = std::get_if<ByteView>(&params[i].value());
    const std::size_t size = text != nullptr ? text->size() : bytes != nullptr ? bytes->size() : 0;
    if (size > kMaxValueBytes)
      return fail(Code::kTooLarge, "a value has {} bytes (parameter {})", size, i + 1);
    if (text != nullptr && !is_text(*text))
      return fail(Code::kInvalidInput, "text is not UTF-8 or holds a NUL (parameter {})", i + 1);
  }
  return {};
}

}  // namespace coffer::sql
