#include "base/nearest.h"

#include <algorithm>
#include <vector>

namespace coffer {
namespace {

// Single-character edits that turn one text into the other.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view wrong,
                                   std::span<const std::string> candidates) {
  constexpr std::size_t kLongest = 64;  // the cost is quadratic; no name is longer
  if (wrong.size() > kLongest) return std::nullopt;
  std::optional<std::string> best;
  std::size_t best_distance = wrong.size() / 2 + 1;
  for (const std::string& candidate : candidates) {
    // People leave the section out: "listen" is nearer to "http.listen" than its letters say.
    const std::string_view last = std::string_view(candidate).substr(candidate.rfind('.') + 1);
    const std::size_t edits =
        std::min(edit_distance(wrong, candidate), edit_distance(wrong, last) + 1);
    if (edits < best_distance) best = candidate, best_distance = edits;
  }
  return best;
}

}  // namespace coffer
