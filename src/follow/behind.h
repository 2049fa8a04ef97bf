// How far a chain is behind its source. A source may claim any number up to 2^64 - 1, so nothing
// here adds to one.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

namespace coffer::follow {

// Blocks between the source's newest block and ours, which may be none; 0 if the source does not
// know its own. Numbers count from 0, so without a block it is one more than the source's number.
constexpr std::uint64_t blocks_behind(std::optional<std::uint64_t> source_number,
                                      std::optional<std::uint64_t> tip_number) {
  if (!source_number) return 0;
  if (tip_number) return *source_number > *tip_number ? *source_number - *tip_number : 0;
  return *source_number < std::numeric_limits<std::uint64_t>::max() ? *source_number + 1
                                                                    : *source_number;
}

// Whether a block lies deeper below the source's newest one than a rollback can reach.
constexpr bool is_below_window(std::optional<std::uint64_t> source_number, std::uint64_t number,
                               std::uint64_t window) {
  return blocks_behind(source_number, number) > window;
}

}  // namespace coffer::follow
