#include "base/printable.h"

#include <gtest/gtest.h>

namespace coffer {
namespace {

constexpr const char* kReplaced = "\xef\xbf\xbd";  // U+FFFD

TEST(Printable, OrdinaryTextStaysAsItIs) {
  for (const char* text : {"", "block 7", "Grüße", "日本", "\xf0\x9f\x98\x80", "e\xcc\x81"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ControlCharactersAndDirectionMarksAreReplaced) {
  const std::string mark = kReplaced;
  EXPECT_EQ(printable("a\nb"), "a" + mark + "b");
  EXPECT_EQ(printable("\x1b[2J"), mark + "[2J");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a" + mark + "b");
  EXPECT_EQ(printable("\x7f"), mark);
  EXPECT_EQ(printable("a\xc2\x85z"), "a" + mark + "z");      // NEL, a line end
  EXPECT_EQ(printable("a\xe2\x80\xaez"), "a" + mark + "z");  // U+202E turns text around
  EXPECT_EQ(printable("a\xe2\x80\xa8z"), "a" + mark + "z");  // U+2028, a line end
}

TEST(Printable, EscapesAreThoseOfJson) {
  EXPECT_EQ(escape_unprintable("Gr\xc3\xbc\xc3\x9f"
                               "e, \xe6\x97\xa5\n"),
            "Gr\xc3\xbc\xc3\x9f"
            "e, \xe6\x97\xa5\n");
  EXPECT_EQ(escape_unprintable("\x1b[2J\r\t\x7f"), "\\u001b[2J\\u000d\\u0009\\u007f");
  EXPECT_EQ(escape_unprintable(std::string_view("\0", 1)), "\\u0000");
  EXPECT_EQ(escape_unprintable("\xc2\x9b"
                               "2J"),
            "\\u009b2J");                                               // CSI in one character
  EXPECT_EQ(escape_unprintable("\xf3\xa0\x81\x81"), "\\udb40\\udc41");  // U+E0041, a tag
  EXPECT_EQ(escape_unprintable("\x9b\xed\xa0\x80"), "\\ufffd\\ufffd");
}

// Those that turn text around, and the marks that belong to them.
TEST(Printable, EveryDirectionMarkIsCaught) {
  for (const char32_t c : {0x061cu, 0x200eu, 0x200fu, 0x202au, 0x202bu, 0x202cu, 0x202du, 0x202eu,
                           0x2066u, 0x2067u, 0x2068u, 0x2069u}) {
    std::string text;
    if (c < 0x800) {
      text = {static_cast<char>(0xc0 | (c >> 6)), static_cast<char>(0x80 | (c & 0x3f))};
    } else {
      text = {static_cast<char>(0xe0 | (c >> 12)), static_cast<char>(0x80 | ((c >> 6) & 0x3f)),
              static_cast<char>(0x80 | (c & 0x3f))};
    }
    char escape[8];
    std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(c));
    EXPECT_EQ(printable(text), kReplaced) << escape;
    EXPECT_EQ(escape_unprintable(text), escape);
  }
}

// Each byte is replaced by itself, so that what follows is still read.
TEST(Printable, InvalidUtf8IsReplacedByteByByte) {
  const std::string mark = kReplaced;
  EXPECT_EQ(printable("\xffz"), mark + "z");
  EXPECT_EQ(printable("\xc3"), mark);             // cut off
  EXPECT_EQ(printable("\xc0\xaf"), mark + mark);  // overlong
  EXPECT_EQ(printable("\xe0\x80\x80"), mark + mark + mark);
  EXPECT_EQ(printable("\xed\xa0\x80"), mark);  // a surrogate decodes, but is no character
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), mark + mark + mark + mark);  // beyond U+10FFFF
}

TEST(Printable, EscapedTextIsAJsonStringThatActsOnNoTerminal) {
  EXPECT_EQ(escaped("Grüße, block 7"), "Grüße, block 7");
  EXPECT_EQ(escaped("a\nb\tc\\\"d\""), R"(a\nb\tc\\\"d\")");
  EXPECT_EQ(escaped("\x1b[2J"), R"(\u001b[2J)");
  EXPECT_EQ(escaped("\xc2\x9b[2J"), R"(\u009b[2J)");          // CSI in one character
  EXPECT_EQ(escaped("a\xe2\x80\xaez"), R"(a\u202ez)");        // turns text around
  EXPECT_EQ(escaped("\xf3\xa0\x80\x81"), R"(\udb40\udc01)");  // a tag, which nobody sees
  EXPECT_EQ(escaped("\xff\xed\xa0\x80"), R"(\ufffd\ufffd)");
}

TEST(Printable, WidthCountsColumns) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("Grüße"), 5u);
  EXPECT_EQ(display_width("日本"), 4u);
  EXPECT_EQ(display_width("\xf0\x9f\x98\x80"), 2u);
  EXPECT_EQ(display_width("e\xcc\x81"), 1u) << "a combining mark takes no column";
  EXPECT_EQ(display_width("\xff\xff"), 2u) << "as their replacements";
}

}  // namespace
}  // namespace coffer
