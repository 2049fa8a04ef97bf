// What the parts of the descriptor parser share: positions in errors, and the checksum of BIP380.
// Invariant: no error repeats a key or any longer piece of the text, which may be a secret.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coffer::wallet {

// The longest useful descriptor is raw() of 10,000 bytes; twenty keys with long paths are shorter.
inline constexpr std::size_t kMaxDescriptorText = 32'768;
inline constexpr std::size_t kChecksumLength = 8;

// kInvalidInput with the position, counted from 0 in the whole descriptor.
template <typename... Args>
[[nodiscard]] std::unexpected<Error> fail_at(std::size_t at, fmt::format_string<Args...> format,
                                             Args&&... args) {
  return fail(Code::kInvalidInput, "position {}: {}", at,
              fmt::format(format, std::forward<Args>(args)...));
}

// A piece of a descriptor and its position in the whole.
struct Piece {
  std::string_view text;
  std::size_t at = 0;

  // From `begin` on, `length` characters at most.
  Piece part(std::size_t begin, std::size_t length = std::string_view::npos) const {
    return {text.substr(begin, length), at + begin};
  }
};

// All thread-safe and linear.

// The eight characters that belong after "#". Errors: kInvalidInput with the position of a
// character that no descriptor may have.
Result<std::string> descriptor_checksum(std::string_view body);

// The text without its checksum, which is checked if it is there. Errors: kTooLarge; kInvalidInput
// for bad characters and for a wrong checksum, naming the right one.
Result<std::string_view> without_checksum(std::string_view text);

// Decimal digits and nothing else, below 2^32.
std::optional<std::uint32_t> parse_decimal(std::string_view digits);

// The pieces between separators, empty ones too; one at least.
std::vector<Piece> split(Piece text, char separator);

}  // namespace coffer::wallet
