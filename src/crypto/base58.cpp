// Base conversion by long multiplication; limbs of several digits keep the square small.
#include "crypto/base58.h"

#include <array>

#include "base/result.h"
#include "crypto/sha256.h"

namespace coffer::crypto {
namespace {

constexpr std::string_view kBase58Alphabet =
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr std::size_t kChecksumBytes = 4;

constexpr std::array<std::int8_t, 256> make_base58_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kBase58Alphabet.size(); ++i)
    values[static_cast<std::uint8_t>(kBase58Alphabet[i])] = static_cast<std::int8_t>(i);
  return values;
}
constexpr std::array<std::int8_t, 256> kBase58Values = make_base58_values();

constexpr std::uint32_t kFiveDigits = 58u * 58 * 58 * 58 * 58;  // the highest power below 2^32

// number = number * factor + addend, the number in base Base, least significant limb first.
template <std::uint64_t Base>
void multiply_add(std::vector<std::uint32_t>& number, std::uint32_t factor, std::uint32_t addend) {
  std::uint64_t carry = addend;
  for (std::uint32_t& limb : number) {
    carry += std::uint64_t{limb} * factor;
    limb = static_cast<std::uint32_t>(carry % Base);
    carry /= Base;
  }
  if (carry > 0) number.push_back(static_cast<std::uint32_t>(carry));
}

Hash256 checksum(ByteView payload) {
  return sha256d(payload);
}

}  // namespace

Result<std::string> base58_encode(ByteView data) {
  if (data.size() > kMaxBase58Bytes)
    return fail(Code::kTooLarge, "base58: {} bytes, at most {} are allowed", data.size(),
                kMaxBase58Bytes);
  std::size_t zeros = 0;
  while (zeros < data.size() && data[zeros] == 0) ++zeros;

  std::vector<std::uint32_t> number;  // limbs of five base-58 digits
  for (const std::uint8_t byte : data.subspan(zeros)) multiply_add<kFiveDigits>(number, 256, byte);

  std::string reversed;
  for (std::uint32_t limb : number)
    for (int digit = 0; digit < 5; ++digit, limb /= 58) reversed += kBase58Alphabet[limb % 58];
  while (!reversed.empty() && reversed.back() == kBase58Alphabet[0]) reversed.pop_back();
  reversed.append(zeros, kBase58Alphabet[0]);
  return std::string(reversed.rbegin(), reversed.rend());
}

Result<Bytes> base58_decode(std::string_view text) {
  if (text.size() > kMaxBase58Text)
    return fail(Code::kTooLarge, "base58: {} characters, at most {} are allowed", text.size(),
                kMaxBase58Text);
  std::size_t zeros = 0;
  while (zeros < text.size() && text[zeros] == kBase58Alphabet[0]) ++zeros;

  std::vector<std::uint32_t> number;  // limbs of 32 bits
  for (std::size_t i = zeros; i < text.size(); ++i) {
    const int value = kBase58Values[static_cast<std::uint8_t>(text[i])];
    if (value < 0)
      return fail(Code::kInvalidInput, "base58: character at position {} is not allowed", i);
    multiply_add<std::uint64_t{1} << 32>(number, 58, static_cast<std::uint32_t>(value));
  }

  Bytes reversed;
  for (std::uint32_t limb : number)
    for (int byte = 0; byte < 4; ++byte, limb >>= 8)
      reversed.push_back(static_cast<std::uint8_t>(limb));
  while (!reversed.empty() && reversed.back() == 0) reversed.pop_back();
  reversed.insert(reversed.end(), zeros, 0);
  if (reversed.size() > kMaxBase58Bytes)
    return fail(Code::kTooLarge, "base58: {} bytes, at most {} are allowed", reversed.size(),
                kMaxBase58Bytes);
  return Bytes(reversed.rbegin(), reversed.rend());
}

Result<std::string> base58check_encode(ByteView payload) {
  Bytes data(payload.begin(), payload.end());
  append(data, checksum(payload).view().first(kChecksumBytes));
  return base58_encode(data);
}

Result<Bytes> base58check_decode(std::string_view text) {
  Bytes data = TRY(base58_decode(text));
  if (data.size() < kChecksumBytes)
    return fail(Code::kInvalidInput, "base58check: {} bytes are too few for a checksum",
                data.size());
  const ByteView payload = ByteView(data).first(data.size() - kChecksumBytes);
  const Hash256 expected = checksum(payload);
  if (!equal(ByteView(data).last(kChecksumBytes), expected.view().first(kChecksumBytes)))
    return fail(Code::kInvalidInput, "base58check: wrong checksum");
  data.resize(payload.size());
  return data;
}

}  // namespace coffer::crypto
