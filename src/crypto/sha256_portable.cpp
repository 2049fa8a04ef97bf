// SHA-256 in plain C++: the reference for the fast one, and what runs where that cannot.
#include <coffer/base/bytes.h>
#include "crypto/sha256_impl.h"

namespace coffer::crypto::detail {
namespace {

using State = std::array<std::uint32_t, 8>;

// One round; the caller rotates the names instead of the values.
inline void round(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t& d,
                  std::uint32_t e, std::uint32_t f, std::uint32_t g, std::uint32_t& h,
                  std::uint32_t k_plus_w) {
  const std::uint32_t big1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
  const std::uint32_t big0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
  const std::uint32_t t1 = h + big1 + (g ^ (e & (f ^ g))) + k_plus_w;
  d += t1;
  h = t1 + big0 + ((a & b) | (c & (a | b)));
}

// 64 rounds; k_plus_w(t) gives the sum of round constant and message word, t in rising order.
template <typename Schedule>
inline void rounds(State& state, Schedule k_plus_w) {
  auto [a, b, c, d, e, f, g, h] = state;
  for (std::size_t t = 0; t < 64; t += 8) {
    round(a, b, c, d, e, f, g, h, k_plus_w(t));
    round(h, a, b, c, d, e, f, g, k_plus_w(t + 1));
    round(g, h, a, b, c, d, e, f, k_plus_w(t + 2));
    round(f, g, h, a, b, c, d, e, k_plus_w(t + 3));
    round(e, f, g, h, a, b, c, d, k_plus_w(t + 4));
    round(d, e, f, g, h, a, b, c, k_plus_w(t + 5));
    round(c, d, e, f, g, h, a, b, k_plus_w(t + 6));
    round(b, c, d, e, f, g, h, a, k_plus_w(t + 7));
  }
  const State mixed = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < 8; ++i) state[i] += mixed[i];
}

// `w` holds the block's 16 words and is used up.
inline void compress(State& state, std::array<std::uint32_t, 16>& w) {
  rounds(state, [&w](std::size_t t) {
    std::uint32_t& word = w[t & 15];
    if (t >= 16) word += sigma1(w[(t - 2) & 15]) + w[(t - 7) & 15] + sigma0(w[(t - 15) & 15]);
    return word + kSha256Rounds[t];
  });
}

inline void compress(State& state, const std::uint8_t* block) {
  std::array<std::uint32_t, 16> w;
  for (std::size_t i = 0; i < 16; ++i) w[i] = load_be32(block + 4 * i);
  compress(state, w);
}

void transform(std::uint32_t* words, const std::uint8_t* data, std::size_t blocks) {
  State state;
  std::copy_n(words, 8, state.begin());
  for (; blocks > 0; --blocks, data += 64) compress(state, data);
  std::copy_n(state.begin(), 8, words);
}

void double_pairs(std::uint8_t* out, const std::uint8_t* in, std::size_t pairs) {
  for (; pairs > 0; --pairs, in += 64, out += 32) {
    State state = kSha256Init;
    compress(state, in);
    rounds(state, [](std::size_t t) { return kPaddingAfter64[t]; });
    std::array<std::uint32_t, 16> w;
    std::copy_n(state.begin(), 8, w.begin());
    std::copy_n(kPaddingAfter32.begin(), 8, w.begin() + 8);
    state = kSha256Init;
    compress(state, w);
    for (std::size_t i = 0; i < 8; ++i) store_be32(out + 4 * i, state[i]);
  }
}

}  // namespace

const Sha256Ops kSha256Portable = {"portable", transform, double_pairs};

}  // namespace coffer::crypto::detail
