#include "cli/table.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "base/result.h"

namespace coffer::cli {
namespace {

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::string padding(width - display_width(cell), ' ');
  line += align == Align::kRight ? padding + cell : cell + padding;
}

}  // namespace

std::string with_thousands(std::uint64_t value) {
  std::string digits = std::to_string(value);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, 1, ',');
  return digits;
}

std::string counted(std::uint64_t count, std::string_view one, std::string_view many) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", with_thousands(count), one)
                      : fmt::format("{} {}", with_thousands(count), many);
}

std::string human_bytes(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  constexpr std::array<const char*, 6> kUnits = {"kB", "MB", "GB", "TB", "PB", "EB"};
  double value = static_cast<double>(bytes) / 1000;
  std::size_t unit = 0;
  // 999.95 would be printed as 1000.0.
  for (; value >= 999.95 && unit + 1 < kUnits.size(); ++unit) value /= 1000;
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string human_duration_ms(std::uint64_t duration_ms) {
  if (duration_ms < 1000) return fmt::format("{} ms", duration_ms);
  if (duration_ms < 59'950) return fmt::format("{:.1f} s", static_cast<double>(duration_ms) / 1000);
  const std::uint64_t seconds = duration_ms / 1000 + (duration_ms % 1000 >= 500 ? 1 : 0);
  const std::uint64_t minutes = seconds / 60;
  const std::uint64_t hours = minutes / 60;
  if (minutes < 60) return fmt::format("{}m {:02}s", minutes, seconds % 60);
  if (hours < 48) return fmt::format("{}h {:02}m", hours, minutes % 60);
  return fmt::format("{}d {:02}h", hours / 24, hours % 24);
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  CHECK(!columns_.empty());
  for (auto& column : columns_) column.title = printable(column.title);
}

void Table::add_row(std::vector<std::string> cells) {
  CHECK(cells.size() == columns_.size());
  for (auto& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::render() const {
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  bool has_titles = false;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    titles.push_back(columns_[i].title);
    has_titles |= !titles.back().empty();
    widths.push_back(display_width(titles.back()));
    for (const auto& row : rows_) widths[i] = std::max(widths[i], display_width(row[i]));
  }

  std::string out;
  const auto add_line = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) line += "  ";
      append_cell(line, cells[i], widths[i], columns_[i].align);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  if (has_titles) add_line(titles);
  for (const auto& row : rows_) add_line(row);
  return out;
}

}  // namespace coffer::cli
