// Text for people: aligned tables, numbers, sizes and durations.
// Invariant: what comes out is valid UTF-8 without control characters, whatever a chain put into a
// name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/printable.h"

namespace coffer::cli {

using coffer::display_width;
using coffer::printable;

std::string with_thousands(std::uint64_t value);  // 1,234,567
// "1 coin", "2,000 coins"; `many` where it is not `one` with an s.
std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});
std::string human_bytes(std::uint64_t bytes);  // 999 B, 1.2 kB, 34.5 MB (powers of 1000)
std::string human_duration_ms(std::uint64_t duration_ms);  // 850 ms, 12.3 s, 4m 05s, 2h 03m, 3d 04h

enum class Align : std::uint8_t { kLeft, kRight };

// A table with one line per row and two blanks between columns. Not thread-safe.
class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::kLeft;  // numbers go right
  };

  explicit Table(std::vector<Column> columns);

  // As many cells as there are columns.
  void add_row(std::vector<std::string> cells);
  std::size_t rows() const { return rows_.size(); }

  // Every line ends with a newline and has no trailing blanks. Titles come first, unless all are
  // empty.
  std::string render() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace coffer::cli
