// Base58 and Base58Check: addresses of Bitcoin before segwit, and Cardano's Byron addresses
// (plain).
#pragma once

#include <string>
#include <string_view>

#include <coffer/base/bytes.h>

namespace coffer::crypto {

// The cost grows with the square of the length, hence the bound; the longest address known has 150.
inline constexpr std::size_t kMaxBase58Text = 2048;
inline constexpr std::size_t kMaxBase58Bytes = 1024;

// All are thread-safe. Errors: kInvalidInput with the position of the bad character, kTooLarge.
Result<std::string> base58_encode(ByteView data);
Result<Bytes> base58_decode(std::string_view text);

// The payload holds its version byte or bytes; the four bytes of checksum are added and taken off
// here. Errors as above; kInvalidInput also for a wrong checksum.
Result<std::string> base58check_encode(ByteView payload);
Result<Bytes> base58check_decode(std::string_view text);

}  // namespace coffer::crypto
