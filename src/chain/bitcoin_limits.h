// Rules of Bitcoin's money that more than one module needs.
#pragma once

#include <cstdint>

namespace coffer::chain {

// Satoshi that can ever exist; no amount and no sum of a transaction's outputs is larger.
inline constexpr std::uint64_t kMaxMoney = 21'000'000ull * 100'000'000;

// A coinbase may be spent when the spending block is so many above its own. The wallet's statements
// take the same number from sync_state.mature_height (W7).
inline constexpr std::uint64_t kCoinbaseMaturity = 100;

}  // namespace coffer::chain
