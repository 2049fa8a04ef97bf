// SHA-256 with the SHA instructions of x86-64 processors.
// Pairs run two at a time: one round instruction waits for the one before, and a second,
// independent hash fills that wait.
#include "crypto/sha256_impl.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define COFFER_SHANI __attribute__((target("sha,sse4.1,ssse3")))
#define COFFER_SHANI_INLINE __attribute__((target("sha,sse4.1,ssse3"), always_inline)) inline

namespace coffer::crypto::detail {
namespace {

// The order of words in which the instructions want the state, highest first.
struct ShaniState {
  __m128i abef;
  __m128i cdgh;
};

struct Words {  // a … d and e … h, lowest first, as in memory
  __m128i low;
  __m128i high;
};

COFFER_SHANI_INLINE __m128i load(const void* at) {
  return _mm_loadu_si128(static_cast<const __m128i*>(at));
}

COFFER_SHANI_INLINE ShaniState pack(Words words) {
  const __m128i badc = _mm_shuffle_epi32(words.low, 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(words.high, 0x1B);
  return {_mm_alignr_epi8(badc, hgfe, 8), _mm_blend_epi16(hgfe, badc, 0xF0)};
}

COFFER_SHANI_INLINE Words unpack(ShaniState state) {
  const __m128i abef = _mm_shuffle_epi32(state.abef, 0x1B);
  const __m128i ghcd = _mm_shuffle_epi32(state.cdgh, 0xB1);
  return {_mm_blend_epi16(abef, ghcd, 0xF0), _mm_alignr_epi8(ghcd, abef, 8)};
}

COFFER_SHANI_INLINE ShaniState initial_state() {
  return pack({load(kSha256Init.data()), load(kSha256Init.data() + 4)});
}

// Message bytes are big-endian words.
COFFER_SHANI_INLINE __m128i swap_words(__m128i words) {
  return _mm_shuffle_epi8(words, _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203));
}

COFFER_SHANI_INLINE void four_rounds(ShaniState& state, __m128i k_plus_w) {
  state.cdgh = _mm_sha256rnds2_epu32(state.cdgh, state.abef, k_plus_w);
  state.abef = _mm_sha256rnds2_epu32(state.abef, state.cdgh, _mm_shuffle_epi32(k_plus_w, 0x0E));
}

COFFER_SHANI_INLINE void add(ShaniState& state, ShaniState before) {
  state.abef = _mm_add_epi32(state.abef, before.abef);
  state.cdgh = _mm_add_epi32(state.cdgh, before.cdgh);
}

// Lanes independent blocks, one step of each in turn; w[lane] holds the 16 words and is used up.
template <std::size_t Lanes>
COFFER_SHANI_INLINE void compress(ShaniState (&state)[Lanes], __m128i (&w)[Lanes][4]) {
  ShaniState before[Lanes];
  for (std::size_t lane = 0; lane < Lanes; ++lane) before[lane] = state[lane];
#pragma GCC unroll 16
  for (std::size_t step = 0; step < 16; ++step) {
    const __m128i k = load(kSha256Rounds.data() + 4 * step);
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < Lanes; ++lane) {
      __m128i* m = w[lane];
      __m128i& now = m[step & 3];
      if (step >= 4) {
        const __m128i last = m[(step + 3) & 3];
        now = _mm_sha256msg1_epu32(now, m[(step + 1) & 3]);
        now = _mm_add_epi32(now, _mm_alignr_epi8(last, m[(step + 2) & 3], 4));
        now = _mm_sha256msg2_epu32(now, last);
      }
      four_rounds(state[lane], _mm_add_epi32(now, k));
    }
  }
  for (std::size_t lane = 0; lane < Lanes; ++lane) add(state[lane], before[lane]);
}

template <std::size_t Lanes>
COFFER_SHANI_INLINE void compress_padding_after_64(ShaniState (&state)[Lanes]) {
  ShaniState before[Lanes];
  for (std::size_t lane = 0; lane < Lanes; ++lane) before[lane] = state[lane];
#pragma GCC unroll 16
  for (std::size_t step = 0; step < 16; ++step) {
    const __m128i k_plus_w = load(kPaddingAfter64.data() + 4 * step);
#pragma GCC unroll 4
    for (std::size_t lane = 0; lane < Lanes; ++lane) four_rounds(state[lane], k_plus_w);
  }
  for (std::size_t lane = 0; lane < Lanes; ++lane) add(state[lane], before[lane]);
}

COFFER_SHANI void transform_shani(std::uint32_t* words, const std::uint8_t* data,
                                  std::size_t blocks) {
  ShaniState state[1] = {pack({load(words), load(words + 4)})};
  for (; blocks > 0; --blocks, data += 64) {
    __m128i w[1][4];
    for (std::size_t i = 0; i < 4; ++i) w[0][i] = swap_words(load(data + 16 * i));
    compress(state, w);
  }
  const Words result = unpack(state[0]);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words), result.low);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(words + 4), result.high);
}

// Reads all its input before it writes, so that out may be in.
template <std::size_t Lanes>
COFFER_SHANI_INLINE void double_lanes(std::uint8_t* out, const std::uint8_t* in) {
  ShaniState state[Lanes];
  __m128i w[Lanes][4];
  for (std::size_t lane = 0; lane < Lanes; ++lane) {
    state[lane] = initial_state();
    for (std::size_t i = 0; i < 4; ++i) w[lane][i] = swap_words(load(in + 64 * lane + 16 * i));
  }
  compress(state, w);
  compress_padding_after_64(state);
  for (std::size_t lane = 0; lane < Lanes; ++lane) {
    const Words digest = unpack(state[lane]);
    w[lane][0] = digest.low;
    w[lane][1] = digest.high;
    w[lane][2] = load(kPaddingAfter32.data());
    w[lane][3] = load(kPaddingAfter32.data() + 4);
    state[lane] = initial_state();
  }
  compress(state, w);
  for (std::size_t lane = 0; lane < Lanes; ++lane) {
    const Words digest = unpack(state[lane]);
    auto* to = reinterpret_cast<__m128i*>(out + 32 * lane);
    _mm_storeu_si128(to, swap_words(digest.low));
    _mm_storeu_si128(to + 1, swap_words(digest.high));
  }
}

COFFER_SHANI void double_pairs_shani(std::uint8_t* out, const std::uint8_t* in, std::size_t pairs) {
  for (; pairs >= 2; pairs -= 2, in += 128, out += 64) double_lanes<2>(out, in);
  if (pairs == 1) double_lanes<1>(out, in);
}

bool processor_has_it() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  constexpr unsigned kSsse3 = 1u << 9, kSse41 = 1u << 19, kSha = 1u << 29;
  if ((c & kSsse3) == 0 || (c & kSse41) == 0) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & kSha) != 0;
}

constexpr Sha256Ops kShaNi = {"sha-ni", transform_shani, double_pairs_shani};

}  // namespace

const Sha256Ops* sha256_shani() {
  static const bool available = processor_has_it();
  return available ? &kShaNi : nullptr;
}

}  // namespace coffer::crypto::detail

#else

namespace coffer::crypto::detail {
const Sha256Ops* sha256_shani() {
  return nullptr;
}
}  // namespace coffer::crypto::detail

#endif
