// Bech32 and Bech32m (BIP 173, BIP 350), and segwit addresses on top of them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <coffer/base/bytes.h>

namespace coffer::crypto {

enum class Bech32Variant : std::uint8_t { kBech32, kBech32m };

// BIP 173 allows 90 characters; Cardano drops that bound for its addresses (CIP 5).
inline constexpr std::size_t kMaxBech32Bitcoin = 90;
inline constexpr std::size_t kMaxBech32Cardano = 1023;

struct Bech32 {
  Bech32Variant variant = Bech32Variant::kBech32;
  std::string hrp;  // lower case
  Bytes data;       // values of 5 bits, without the checksum
};

// All functions here are thread-safe and cost time linear in their input.

// Errors: kInvalidInput with the position of the bad character or what is wrong; kTooLarge above
// max_length.
Result<Bech32> bech32_decode(std::string_view text, std::size_t max_length = kMaxBech32Bitcoin);
// hrp in lower case, data of 5-bit values. Errors: kInvalidInput; kTooLarge above max_length.
Result<std::string> bech32_encode(Bech32Variant variant, std::string_view hrp, ByteView data,
                                  std::size_t max_length = kMaxBech32Bitcoin);

// Eight bits to five, the last group filled up with zero bits.
Bytes to_base32(ByteView bytes);
// Back again. Errors: kInvalidInput for a value above 31, five or more left-over bits, or such bits
// set.
Result<Bytes> from_base32(ByteView values);

struct SegwitAddress {
  std::string hrp;
  std::uint8_t version = 0;  // 0 … 16
  Bytes program;             // 2 … 40 bytes; 20 or 32 for version 0
};

// Version 0 must be Bech32, later ones Bech32m. Whether the hrp belongs to the right network is for
// the caller to say. Errors: kInvalidInput, kTooLarge.
Result<SegwitAddress> decode_segwit(std::string_view text);
Result<std::string> encode_segwit(std::string_view hrp, std::uint8_t version, ByteView program);

}  // namespace coffer::crypto
