// Lists in pages: the cursor, and a walk that examines a bounded number of rows for a page (E11).
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/token/store.h>
#include "base/result.h"

namespace coffer::token {

// How many rows one page examines, if a filter leaves most of them out.
inline constexpr std::size_t kMaxExamined = 10'000;

// A row's place in the order of its list, of which each list uses what it needs. A page starts at
// its place, which is among the rows of the page.
struct Place {
  std::int64_t number = 0;
  std::int64_t second = 0;
  Uuid id{};
  std::string text = {};
};
inline constexpr std::size_t kMaxCursorBytes = 10'000;

// Makes a place the cursor of one list with its filters, so that it is not taken for that of
// another. It keeps nothing secret: a place is only where to read on.
class CursorSeal {
 public:
  explicit CursorSeal(std::string_view list) { add(list); }
  CursorSeal& add(std::string_view text);
  CursorSeal& add(std::int64_t number);
  CursorSeal& add(const std::optional<std::int64_t>& number);
  CursorSeal& add(const std::optional<Uuid>& id);

  // Nothing for an empty cursor. Errors: kInvalidInput.
  Result<std::optional<Place>> open(std::string_view cursor) const;
  std::string close(const Place& place) const;

 private:
  Bytes bound_;  // the list and its filters
};

// Reads rows from a place on until there is a page of those that are accepted, or kMaxExamined were
// read: such a page is shorter and has a cursor all the same. fetch(place, limit) gives the next
// rows in order, from the place on; fewer than `limit` of them mean the end.
template <typename T, typename Fetch, typename Accept, typename PlaceOf>
Result<Page<T>> walk_page(std::size_t count, Place from, const CursorSeal& seal, Fetch&& fetch,
                          Accept&& accept, PlaceOf&& place_of) {
  constexpr std::size_t kMostAtOnce = 2'000;
  Page<T> page;
  std::size_t examined = 0;
  for (std::size_t wanted = count + 1;; wanted = std::min(4 * wanted, kMostAtOnce)) {
    std::vector<T> rows = TRY(fetch(from, wanted));
    const bool is_end = rows.size() < wanted;
    // The last one is where the next rows begin, unless it is the very last.
    const std::size_t usable = is_end ? rows.size() : rows.size() - 1;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (page.items.size() == count || examined == kMaxExamined) {
        page.cursor = seal.close(place_of(rows[i]));
        return page;
      }
      if (i == usable) {
        from = place_of(rows[i]);
        break;
      }
      ++examined;
      if (accept(rows[i])) page.items.push_back(std::move(rows[i]));
    }
    if (is_end) return page;
  }
}

template <typename T, typename Fetch, typename PlaceOf>
Result<Page<T>> walk_page(std::size_t count, Place from, const CursorSeal& seal, Fetch&& fetch,
                          PlaceOf&& place_of) {
  return walk_page<T>(
      count, std::move(from), seal, std::forward<Fetch>(fetch), [](const T&) { return true; },
      std::forward<PlaceOf>(place_of));
}

}  // namespace coffer::token
