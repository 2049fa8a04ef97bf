#include "cli/table.h"

#include <gtest/gtest.h>

#include <limits>

namespace coffer::cli {
namespace {

TEST(Table, AlignsTextLeftAndNumbersRight) {
  Table table({{"name", Align::kLeft}, {"blocks", Align::kRight}, {"state", Align::kLeft}});
  table.add_row({"utxo", "12", "following"});
  table.add_row({"a longer name", "1,234,567", "behind"});
  EXPECT_EQ(table.render(),
            "name              blocks  state\n"
            "utxo                  12  following\n"
            "a longer name  1,234,567  behind\n");
}

TEST(Table, PadsByWidthOnTheTerminalNotByBytes) {
  Table table({{"asset", Align::kLeft}, {"n", Align::kRight}});
  table.add_row({"日本", "1"});         // 6 bytes, 4 columns
  table.add_row({"e\u0301tude", "2"});  // a combining accent takes no column
  table.add_row({"ascii", "3"});
  EXPECT_EQ(table.render(),
            "asset  n\n"
            "日本   1\n"
            "e\u0301tude  2\n"
            "ascii  3\n");
}

TEST(Table, WithoutTitlesOrRows) {
  Table keys({{"", Align::kLeft}, {"", Align::kLeft}});
  keys.add_row({"chain", "bitcoin"});
  EXPECT_EQ(keys.render(), "chain  bitcoin\n");
  EXPECT_EQ(Table({{"only", Align::kLeft}}).render(), "only\n");
}

TEST(Table, CellsCannotMoveTheCursorOrForgeLines) {
  Table table({{"name", Align::kLeft}});
  table.add_row({"a\x1b[2Jb\nc\xff"});
  EXPECT_EQ(table.render(), "name\na\ufffd[2Jb\ufffdc\ufffd\n");
}

TEST(Text, PrintableReplacesWhatIsUnsafeOrInvalid) {
  EXPECT_EQ(printable("plain äöü 日本 🙂"), "plain äöü 日本 🙂");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\ufffd");
  EXPECT_EQ(printable("\u202e"), "\ufffd");              // right-to-left override
  EXPECT_EQ(printable("\xc2\x9b"), "\ufffd");            // a C1 control sequence introducer
  EXPECT_EQ(printable("\xc0\xaf"), "\ufffd\ufffd");      // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\ufffd");        // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80").size(), 12u);  // above U+10FFFF: four bytes, four marks
  EXPECT_EQ(printable("\xe6\x97"), "\ufffd\ufffd");      // cut off
}

TEST(Text, WidthOfInvalidBytesIsOneEach) {
  EXPECT_EQ(display_width("\xff\xfe"), 2u);
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("🙂"), 2u);
}

TEST(Text, Thousands) {
  EXPECT_EQ(with_thousands(0), "0");
  EXPECT_EQ(with_thousands(999), "999");
  EXPECT_EQ(with_thousands(1000), "1,000");
  EXPECT_EQ(with_thousands(1234567), "1,234,567");
  EXPECT_EQ(with_thousands(std::numeric_limits<std::uint64_t>::max()),
            "18,446,744,073,709,551,615");
}

TEST(Text, HumanBytes) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.0 kB");
  EXPECT_EQ(human_bytes(34'500'000), "34.5 MB");
  EXPECT_EQ(human_bytes(999'999), "1.0 MB");
  EXPECT_EQ(human_bytes(std::numeric_limits<std::uint64_t>::max()), "18.4 EB");
}

TEST(Text, HumanDuration) {
  EXPECT_EQ(human_duration_ms(0), "0 ms");
  EXPECT_EQ(human_duration_ms(850), "850 ms");
  EXPECT_EQ(human_duration_ms(12'340), "12.3 s");
  EXPECT_EQ(human_duration_ms(59'949), "59.9 s");
  EXPECT_EQ(human_duration_ms(59'960), "1m 00s");
  EXPECT_EQ(human_duration_ms(245'000), "4m 05s");
  EXPECT_EQ(human_duration_ms(2 * 3'600'000 + 3 * 60'000), "2h 03m");
  EXPECT_EQ(human_duration_ms(76ull * 3'600'000), "3d 04h");
}

}  // namespace
}  // namespace coffer::cli
