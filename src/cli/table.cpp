#include "cli/table.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/check.h"

namespace coffer::cli {
namespace {

struct Range {
  char32_t first, last;
};

// Written over the character before them, or not at all.
constexpr Range kZeroWidth[] = {
    {0x0300, 0x036f}, {0x0483, 0x0489}, {0x0591, 0x05bd},  {0x0610, 0x061a}, {0x064b, 0x065f},
    {0x1ab0, 0x1aff}, {0x1dc0, 0x1dff}, {0x200b, 0x200d},  {0x20d0, 0x20ff}, {0x302a, 0x302d},
    {0xfe00, 0xfe0f}, {0xfe20, 0xfe2f}, {0xe0100, 0xe01ef}};

// East Asian wide and full-width characters, and emoji.
constexpr Range kWide[] = {
    {0x1100, 0x115f},   {0x231a, 0x231b},  {0x2e80, 0x303e}, {0x3041, 0x33ff},   {0x3400, 0x4dbf},
    {0x4e00, 0x9fff},   {0xa000, 0xa4cf},  {0xa960, 0xa97f}, {0xac00, 0xd7a3},   {0xf900, 0xfaff},
    {0xfe30, 0xfe6f},   {0xff00, 0xff60},  {0xffe0, 0xffe6}, {0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff},
    {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd}};

// Control characters, line separators and marks that reorder the text around them.
constexpr Range kUnsafe[] = {
    {0x00, 0x1f},     {0x7f, 0x9f},     {0x061c, 0x061c}, {0x200e, 0x200f}, {0x2028, 0x202e},
    {0x2060, 0x206f}, {0xd800, 0xdfff}, {0xfeff, 0xfeff}, {0xfff9, 0xfffb}, {0xe0000, 0xe007f}};

bool in(std::span<const Range> ranges, char32_t c) {
  return std::any_of(ranges.begin(), ranges.end(),
                     [c](Range range) { return c >= range.first && c <= range.last; });
}

struct Decoded {
  char32_t value = 0;
  std::size_t length = 1;
  bool valid = false;  // otherwise one byte is to be skipped
};

// The first character of a text that is not empty. Overlong forms are invalid.
Decoded decode(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1, true};
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return {};
  char32_t value = lead & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3fu);
  }
  constexpr std::array<char32_t, 5> kSmallest = {0, 0, 0x80, 0x800, 0x10000};
  if (value < kSmallest[length] || value > 0x10ffff) return {};
  return {value, length, true};
}

void append_cell(std::string& line, const std::string& cell, std::size_t width, Align align) {
  const std::string padding(width - display_width(cell), ' ');
  line += align == Align::kRight ? padding + cell : cell + padding;
}

}  // namespace

std::size_t display_width(std::string_view utf8) {
  std::size_t width = 0;
  while (!utf8.empty()) {
    const Decoded next = decode(utf8);
    utf8.remove_prefix(next.length);
    if (!next.valid)
      width += 1;
    else if (!in(kZeroWidth, next.value))
      width += in(kWide, next.value) ? 2 : 1;
  }
  return width;
}

std::string printable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Decoded next = decode(text);
    if (next.valid && !in(kUnsafe, next.value))
      out += text.substr(0, next.length);
    else
      out += "\xef\xbf\xbd";
    text.remove_prefix(next.length);
  }
  return out;
}

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
