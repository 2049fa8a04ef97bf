#include "json/writer.h"

#include <gtest/gtest.h>

namespace coffer::json {
namespace {

TEST(JsonWriter, AnyBytesGiveValidJson) {
  Writer out;
  out.begin_object().field("a", 1).field("b", "x\"\\\n\x01").key("c").begin_array();
  out.value(true).null().value("\xc3\xa9\xff\xed\xa0\x80").begin_object().end_object();
  out.value(std::uint64_t{18446744073709551615u}).end_array().end_object();
  EXPECT_EQ(
      out.take(),
      "{\"a\":1,\"b\":\"x\\\"\\\\\\n\\u0001\",\"c\":[true,null,\"\xc3\xa9\\ufffd\\ufffd\\ufffd"
      "\\ufffd\",{},18446744073709551615]}");
}

TEST(JsonWriter, QuotesStrings) {
  const auto quoted = [](std::string_view text) {
    std::string out = "=";
    append_string(out, text);
    return out;
  };
  EXPECT_EQ(quoted(""), "=\"\"");
  EXPECT_EQ(quoted("a/\t\x7f"), "=\"a/\\u0009\\u007f\"");
  EXPECT_EQ(quoted("\xf0\x9f\x92\xb0"), "=\"\xf0\x9f\x92\xb0\"");
  EXPECT_EQ(quoted("\xf0\x9f\x92"), "=\"\\ufffd\\ufffd\\ufffd\"");
  EXPECT_EQ(quoted("\xc0\x80"), "=\"\\ufffd\\ufffd\"") << "an overlong form";
}

TEST(JsonWriter, PutsCommasBetweenItems) {
  Writer out;
  out.begin_array().begin_object().end_object().begin_object().key("a").raw("[1]").field("b", -2);
  out.end_object().value(std::string("x")).end_array();
  EXPECT_EQ(out.take(), R"([{},{"a":[1],"b":-2},"x"])");
}

}  // namespace
}  // namespace coffer::json
