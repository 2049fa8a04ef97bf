// What somebody who mistyped a name probably meant.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace coffer {

// The candidate with the fewest single-character edits from `wrong`; nothing if more than half of
// it would have to change. Thread-safe; quadratic in the lengths, and names above 64 characters are
// not looked at.
std::optional<std::string> nearest(std::string_view wrong, std::span<const std::string> candidates);

}  // namespace coffer
