// What the implementations of SHA-256 share. Internal to src/crypto.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace coffer::crypto::detail {

struct Sha256Ops {
  std::string_view name;
  // Runs `blocks` blocks of 64 bytes through the state.
  void (*transform)(std::uint32_t* state, const std::uint8_t* data, std::size_t blocks);
  // See sha256d_pairs().
  void (*double_pairs)(std::uint8_t* out, const std::uint8_t* in, std::size_t pairs);
};

extern const Sha256Ops kSha256Portable;
// Null where the program was not built for x86-64 or the processor cannot run it.
const Sha256Ops* sha256_shani();

alignas(16) inline constexpr std::array<std::uint32_t, 8> kSha256Init = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

alignas(16) inline constexpr std::array<std::uint32_t, 64> kSha256Rounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

constexpr std::uint32_t rotate_right(std::uint32_t x, int n) {
  return (x >> n) | (x << (32 - n));
}
constexpr std::uint32_t sigma0(std::uint32_t x) {
  return rotate_right(x, 7) ^ rotate_right(x, 18) ^ (x >> 3);
}
constexpr std::uint32_t sigma1(std::uint32_t x) {
  return rotate_right(x, 17) ^ rotate_right(x, 19) ^ (x >> 10);
}

// The block that follows exactly 64 bytes of message is always the same, so its whole schedule is a
// constant; round constants are added in already.
constexpr std::array<std::uint32_t, 64> padding_schedule_after_64_bytes() {
  std::array<std::uint32_t, 64> w{};
  w[0] = 0x80000000;
  w[15] = 64 * 8;
  for (std::size_t t = 16; t < 64; ++t)
    w[t] = sigma1(w[t - 2]) + w[t - 7] + sigma0(w[t - 15]) + w[t - 16];
  for (std::size_t t = 0; t < 64; ++t) w[t] += kSha256Rounds[t];
  return w;
}
alignas(16) inline constexpr std::array<std::uint32_t, 64> kPaddingAfter64 =
    padding_schedule_after_64_bytes();

// Words 8 … 15 of a block whose first 32 bytes are a digest to be hashed again.
alignas(16) inline constexpr std::array<std::uint32_t, 8> kPaddingAfter32 = {
    0x80000000, 0, 0, 0, 0, 0, 0, 32 * 8};

}  // namespace coffer::crypto::detail
