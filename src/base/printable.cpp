#include "base/printable.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

namespace coffer {
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

namespace {

// As UTF-16, which is what JSON escapes count in.
void append_escape(std::string& out, char32_t c) {
  const auto unit = [&](unsigned value) { out += fmt::format("\\u{:04x}", value); };
  if (c <= 0xffff) return unit(c);
  unit(0xd800 + ((c - 0x10000) >> 10));
  unit(0xdc00 + ((c - 0x10000) & 0x3ff));
}

}  // namespace

std::string escape_unprintable(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  const auto is_plain = [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); };
  while (!text.empty()) {
    const auto plain = std::ranges::find_if_not(text, is_plain) - text.begin();  // most of it
    out += text.substr(0, static_cast<std::size_t>(plain));
    text.remove_prefix(static_cast<std::size_t>(plain));
    if (text.empty()) break;
    const Decoded next = decode(text);
    if (!next.valid || (next.value >= 0xd800 && next.value <= 0xdfff))
      append_escape(out, 0xfffd);
    else if (next.value != '\n' && in(kUnsafe, next.value))
      append_escape(out, next.value);
    else
      out += text.substr(0, next.length);
    text.remove_prefix(next.length);
  }
  return out;
}

std::string escaped(std::string_view text) {
  std::string quoted;
  quoted.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '"': quoted += "\\\""; break;
      case '\\': quoted += "\\\\"; break;
      case '\n': quoted += "\\n"; break;
      case '\r': quoted += "\\r"; break;
      case '\t': quoted += "\\t"; break;
      default: quoted += c;
    }
  }
  return escape_unprintable(quoted);
}

}  // namespace coffer
