#include "base/random.h"

#include <sys/random.h>

#include <bit>

#include "base/check.h"

namespace coffer {

Rng::Rng(std::uint64_t seed) {
  for (auto& word : state_) {  // splitmix64
    seed += 0x9e3779b97f4a7c15;
    std::uint64_t z = seed;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

std::uint64_t Rng::operator()() {
  auto& s = state_;
  std::uint64_t result = std::rotl(s[1] * 5, 7) * 9;
  std::uint64_t t = s[1] << 17;
  s[2] ^= s[0];
  s[3] ^= s[1];
  s[1] ^= s[2];
  s[0] ^= s[3];
  s[2] ^= t;
  s[3] = std::rotl(s[3], 45);
  return result;
}

std::uint64_t Rng::below(std::uint64_t bound) {
  CHECK(bound > 0);
  // Rejection of the uneven tail keeps every value equally likely.
  std::uint64_t limit = max() - max() % bound;
  std::uint64_t value;
  do value = (*this)();
  while (value >= limit);
  return value % bound;
}

void Rng::fill(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    std::uint64_t word = (*this)();
    std::size_t count = std::min(bytes.size(), sizeof word);
    std::memcpy(bytes.data(), &word, count);
    bytes = bytes.subspan(count);
  }
}

void fill_secure(std::span<std::uint8_t> bytes) {
  while (!bytes.empty()) {
    ssize_t got = getrandom(bytes.data(), bytes.size(), 0);
    CHECK(got > 0);
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

std::uint64_t random_seed() {
  std::uint8_t bytes[8];
  fill_secure(bytes);
  return load_le<std::uint64_t>(bytes);
}

}  // namespace coffer
