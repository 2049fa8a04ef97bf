#include "feed/block_index_work.h"

namespace coffer::feed {
namespace {

Work complement(Work value) {
  for (auto& word : value.words) word = ~word;
  return value;
}

// value * 2 + low_bit.
void shift_in(Work& value, std::uint64_t low_bit) {
  for (std::size_t i = 0; i < 3; ++i)
    value.words[i] = (value.words[i] << 1) | (value.words[i + 1] >> 63);
  value.words[3] = (value.words[3] << 1) | low_bit;
}

void subtract(Work& from, const Work& what) {
  Work negative = complement(what);
  negative += Work::of(1);
  from += negative;
}

// The bits of a number from the most significant down are brought into the remainder one by one.
Work divide(const Work& number, const Work& by) {
  Work quotient, remainder;
  for (std::size_t i = 0; i < 256; ++i) {
    const bool carry = (remainder.words[0] >> 63) != 0;
    shift_in(remainder, (number.words[i / 64] >> (63 - i % 64)) & 1);
    const bool fits = carry || remainder >= by;
    if (fits) subtract(remainder, by);
    shift_in(quotient, fits ? 1 : 0);
  }
  return quotient;
}

}  // namespace

Work& Work::operator+=(const Work& other) {
  std::uint64_t carry = 0;
  for (std::size_t i = 4; i-- > 0;) {
    const std::uint64_t sum = words[i] + other.words[i];
    const std::uint64_t with_carry = sum + carry;
    carry = (sum < words[i] || with_carry < sum) ? 1 : 0;
    words[i] = with_carry;
  }
  return *this;
}

Work& Work::operator-=(const Work& other) {
  std::uint64_t borrow = 0;
  for (std::size_t i = 4; i-- > 0;) {
    const std::uint64_t difference = words[i] - other.words[i];
    const std::uint64_t with_borrow = difference - borrow;
    borrow = (words[i] < other.words[i] || difference < borrow) ? 1 : 0;
    words[i] = with_borrow;
  }
  return *this;
}

Work work_of_bits(std::uint32_t bits) {
  const std::uint32_t exponent = bits >> 24;
  std::uint64_t mantissa = bits & 0x7fffff;
  if ((bits & 0x800000) != 0) return {};
  Work target;
  if (exponent <= 3) {
    target = Work::of(mantissa >> (8 * (3 - exponent)));
  } else {
    for (std::uint32_t byte = 0; byte < 3; ++byte, mantissa >>= 8) {
      const std::uint32_t at = exponent - 3 + byte;  // bytes from the least significant
      if (at >= 32) {
        if (mantissa != 0) return {};
        break;
      }
      target.words[3 - at / 8] |= (mantissa & 0xff) << (8 * (at % 8));
    }
  }
  if (target == Work{}) return {};
  // 2^256 / (t + 1) = (2^256 - 1 - t) / (t + 1) + 1 without a 257th bit.
  Work divisor = target;
  divisor += Work::of(1);
  Work work = divide(complement(target), divisor);
  work += Work::of(1);
  return work;
}

}  // namespace coffer::feed
