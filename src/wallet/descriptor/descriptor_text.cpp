#include "wallet/descriptor/descriptor_text.h"
#include "base/result.h"

#include <charconv>

namespace coffer::wallet {
namespace {

// A character is three groups of 32: common errors (case, h for ') change one symbol only.
constexpr std::string_view kInput =
    "0123456789()[],'/*abcdefgh@:$%{}"
    "IJKLMNOPQRSTUVWXYZ&+-.;<=>?!^_|~"
    "ijklmnopqrstuvwxyzABCDEFGH`#\"\\ ";
constexpr std::string_view kOutput = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::uint64_t kGenerator[] = {0xf5dee51989, 0xa9fdca3312, 0x1bab10e32d, 0x3706b1677a,
                                        0x644d626ffd};

class Checksum {
 public:
  void add(unsigned symbol) {
    const std::uint64_t top = state_ >> 35;
    state_ = (state_ & 0x7ffffffff) << 5 ^ symbol;
    for (unsigned bit = 0; bit < 5; ++bit)
      if ((top >> bit & 1) != 0) state_ ^= kGenerator[bit];
  }
  std::string finish() {
    for (std::size_t i = 0; i < kChecksumLength; ++i) add(0);
    state_ ^= 1;
    std::string text;
    for (std::size_t i = 0; i < kChecksumLength; ++i)
      text += kOutput[state_ >> (5 * (kChecksumLength - 1 - i)) & 31];
    return text;
  }

 private:
  std::uint64_t state_ = 1;
};

}  // namespace

Result<std::string> descriptor_checksum(std::string_view body) {
  Checksum checksum;
  unsigned group = 0, groups = 0;
  for (std::size_t i = 0; i < body.size(); ++i) {
    const std::size_t found = kInput.find(body[i]);
    if (found == std::string_view::npos)
      return fail_at(i, "a character that no descriptor may have");
    checksum.add(found & 31);
    group = group * 3 + static_cast<unsigned>(found >> 5);
    if (++groups == 3) {
      checksum.add(group);
      group = groups = 0;
    }
  }
  if (groups > 0) checksum.add(group);
  return checksum.finish();
}

Result<std::string_view> without_checksum(std::string_view text) {
  if (text.size() > kMaxDescriptorText)
    return fail(Code::kTooLarge, "a descriptor of {} characters, at most {} are allowed",
                text.size(), kMaxDescriptorText);
  const std::size_t mark = text.find('#');
  const std::string_view body = text.substr(0, mark);
  const std::string right = TRY(descriptor_checksum(body));
  if (mark == std::string_view::npos) return body;
  const std::string_view given = text.substr(mark + 1);
  if (given.find('#') != std::string_view::npos)
    return fail_at(mark + 1 + given.find('#'), "a second '#'");
  if (given.size() != kChecksumLength)
    return fail_at(mark + 1, "a checksum has {} characters, not {}", kChecksumLength, given.size());
  if (given != right)
    return fail_at(mark + 1,
                   "wrong checksum: {} would be right for this text, so either it or the text has "
                   "an error",
                   right);
  return body;
}

std::vector<Piece> split(Piece text, char separator) {
  std::vector<Piece> pieces;
  for (;;) {
    const std::size_t end = text.text.find(separator);
    pieces.push_back(text.part(0, end));
    if (end == std::string_view::npos) return pieces;
    text = text.part(end + 1);
  }
}

std::optional<std::uint32_t> parse_decimal(std::string_view digits) {
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  std::uint32_t number = 0;
  const char* const begin = digits.data();
  const char* const end = begin + digits.size();
  const auto parsed = std::from_chars(begin, end, number);
  if (parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

}  // namespace coffer::wallet
