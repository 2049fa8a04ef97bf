// The checksum is a BCH code over GF(32); see BIP 173 for where the constants come from.
#include "crypto/bech32.h"
#include "base/result.h"

#include <array>

namespace coffer::crypto {
namespace {

constexpr std::string_view kBech32Alphabet = "qpzry9x8gf2tvdw0s3jn54khce6mua7l";
constexpr std::size_t kChecksumLength = 6;
constexpr std::uint32_t kBech32Constant = 1;
constexpr std::uint32_t kBech32mConstant = 0x2bc830a3;

constexpr std::array<std::int8_t, 256> make_bech32_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kBech32Alphabet.size(); ++i) {
    const auto lower = static_cast<std::uint8_t>(kBech32Alphabet[i]);
    values[lower] = static_cast<std::int8_t>(i);
    if (lower >= 'a') values[lower - 'a' + 'A'] = static_cast<std::int8_t>(i);
  }
  return values;
}
constexpr std::array<std::int8_t, 256> kBech32Values = make_bech32_values();

class Checksum {
 public:
  void add(std::uint8_t value) {
    const std::uint32_t top = state_ >> 25;
    state_ = ((state_ & 0x1ffffff) << 5) ^ value;
    for (std::size_t i = 0; i < 5; ++i)
      if ((top >> i & 1) != 0) state_ ^= kGenerator[i];
  }
  void add_hrp(std::string_view hrp) {
    for (const char c : hrp) add(static_cast<std::uint8_t>(c >> 5));
    add(0);
    for (const char c : hrp) add(static_cast<std::uint8_t>(c & 31));
  }
  std::uint32_t value() const { return state_; }

 private:
  static constexpr std::array<std::uint32_t, 5> kGenerator = {0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
                                                              0x3d4233dd, 0x2a1462b3};
  std::uint32_t state_ = 1;
};

// Printable, and of one case in the whole text.
Result<> check_characters(std::string_view text) {
  bool lower = false, upper = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c < 33 || c > 126)
      return fail(Code::kInvalidInput, "bech32: character at position {} is not allowed", i);
    lower = lower || (c >= 'a' && c <= 'z');
    upper = upper || (c >= 'A' && c <= 'Z');
    if (lower && upper)
      return fail(Code::kInvalidInput, "bech32: upper and lower case are mixed at position {}", i);
  }
  return {};
}

std::string lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return lower;
}

Result<> check_segwit(std::uint8_t version, ByteView program) {
  if (version > 16) return fail(Code::kInvalidInput, "segwit: version {} is above 16", version);
  if (program.size() < 2 || program.size() > 40)
    return fail(Code::kInvalidInput, "segwit: a program has 2 to 40 bytes, not {}", program.size());
  if (version == 0 && program.size() != 20 && program.size() != 32)
    return fail(Code::kInvalidInput, "segwit: a version 0 program has 20 or 32 bytes, not {}",
                program.size());
  return {};
}

}  // namespace

Result<Bech32> bech32_decode(std::string_view text, std::size_t max_length) {
  if (text.size() > max_length)
    return fail(Code::kTooLarge, "bech32: {} characters, at most {} are allowed", text.size(),
                max_length);
  TRY(check_characters(text));
  const std::size_t separator = text.rfind('1');
  if (separator == std::string_view::npos || separator == 0)
    return fail(Code::kInvalidInput, "bech32: no human-readable part before a '1'");
  const std::string_view digits = text.substr(separator + 1);
  if (digits.size() < kChecksumLength)
    return fail(Code::kInvalidInput, "bech32: too short for a checksum after position {}",
                separator);

  Bech32 decoded;
  decoded.hrp = lower_case(text.substr(0, separator));
  decoded.data.reserve(digits.size());
  Checksum checksum;
  checksum.add_hrp(decoded.hrp);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const int value = kBech32Values[static_cast<std::uint8_t>(digits[i])];
    if (value < 0)
      return fail(Code::kInvalidInput, "bech32: character at position {} is not allowed",
                  separator + 1 + i);
    checksum.add(static_cast<std::uint8_t>(value));
    decoded.data.push_back(static_cast<std::uint8_t>(value));
  }
  if (checksum.value() == kBech32mConstant)
    decoded.variant = Bech32Variant::kBech32m;
  else if (checksum.value() != kBech32Constant)
    return fail(Code::kInvalidInput, "bech32: wrong checksum");
  decoded.data.resize(digits.size() - kChecksumLength);
  return decoded;
}

Result<std::string> bech32_encode(Bech32Variant variant, std::string_view hrp, ByteView data,
                                  std::size_t max_length) {
  if (hrp.empty()) return fail(Code::kInvalidInput, "bech32: the human-readable part is empty");
  TRY(check_characters(hrp));
  if (lower_case(hrp) != hrp)
    return fail(Code::kInvalidInput, "bech32: the human-readable part must be in lower case");
  const std::size_t length = hrp.size() + 1 + data.size() + kChecksumLength;
  if (length > max_length)
    return fail(Code::kTooLarge, "bech32: {} characters, at most {} are allowed", length,
                max_length);

  std::string text;
  text.reserve(length);
  text.append(hrp).push_back('1');
  Checksum checksum;
  checksum.add_hrp(hrp);
  for (std::size_t i = 0; i < data.size(); ++i) {
    if (data[i] > 31)
      return fail(Code::kInvalidInput, "bech32: value at position {} has more than 5 bits", i);
    checksum.add(data[i]);
    text.push_back(kBech32Alphabet[data[i]]);
  }
  for (std::size_t i = 0; i < kChecksumLength; ++i) checksum.add(0);
  const std::uint32_t sum =
      checksum.value() ^ (variant == Bech32Variant::kBech32m ? kBech32mConstant : kBech32Constant);
  for (std::size_t i = 0; i < kChecksumLength; ++i)
    text.push_back(kBech32Alphabet[sum >> (5 * (kChecksumLength - 1 - i)) & 31]);
  return text;
}

Bytes to_base32(ByteView bytes) {
  Bytes values;
  values.reserve((bytes.size() * 8 + 4) / 5);
  std::uint32_t pending = 0;
  unsigned bits = 0;
  for (const std::uint8_t byte : bytes) {
    pending = (pending << 8 | byte) & 0xfff;
    for (bits += 8; bits >= 5;) {
      bits -= 5;
      values.push_back(static_cast<std::uint8_t>(pending >> bits & 31));
    }
  }
  if (bits > 0) values.push_back(static_cast<std::uint8_t>(pending << (5 - bits) & 31));
  return values;
}

Result<Bytes> from_base32(ByteView values) {
  Bytes bytes;
  bytes.reserve(values.size() * 5 / 8);
  std::uint32_t pending = 0;
  unsigned bits = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] > 31)
      return fail(Code::kInvalidInput, "bech32: value at position {} has more than 5 bits", i);
    pending = (pending << 5 | values[i]) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      bytes.push_back(static_cast<std::uint8_t>(pending >> bits));
    }
  }
  if (bits >= 5) return fail(Code::kInvalidInput, "bech32: {} bits are left over", bits);
  if ((pending & ((1u << bits) - 1)) != 0)
    return fail(Code::kInvalidInput, "bech32: the bits that fill up are not zero");
  return bytes;
}

Result<SegwitAddress> decode_segwit(std::string_view text) {
  Bech32 decoded = TRY(bech32_decode(text));
  if (decoded.data.empty()) return fail(Code::kInvalidInput, "segwit: no version");
  SegwitAddress address;
  address.version = decoded.data[0];
  address.program = TRY(from_base32(ByteView(decoded.data).subspan(1)));
  TRY(check_segwit(address.version, address.program));
  const bool wants_bech32 = address.version == 0;
  if (wants_bech32 != (decoded.variant == Bech32Variant::kBech32))
    return fail(Code::kInvalidInput, "segwit: version {} must use {}", address.version,
                wants_bech32 ? "bech32" : "bech32m");
  address.hrp = std::move(decoded.hrp);
  return address;
}

Result<std::string> encode_segwit(std::string_view hrp, std::uint8_t version, ByteView program) {
  TRY(check_segwit(version, program));
  Bytes data = {version};
  append(data, to_base32(program));
  return bech32_encode(version == 0 ? Bech32Variant::kBech32 : Bech32Variant::kBech32m, hrp, data);
}

}  // namespace coffer::crypto
