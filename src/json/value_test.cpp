#include "json/value.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace coffer::json {
namespace {

Value value_of(std::string_view text) {
  return parse(text).value();
}

TEST(JsonValue, HasOneTypeOnly) {
  struct Case {
    const char* text;
    std::optional<bool> boolean;
    std::optional<std::string> string;
    std::optional<double> number;
    bool null, array, object;
    std::size_t size;
  };
  const auto none = std::nullopt;
  for (const Case& expected : {Case{"null", none, none, none, true, false, false, 0},
                               Case{"true", true, none, none, false, false, false, 0},
                               Case{"\"1\"", none, "1", none, false, false, false, 0},
                               Case{"1.5", none, none, 1.5, false, false, false, 0},
                               Case{"-2", none, none, -2, false, false, false, 0},
                               Case{"[1,2]", none, none, none, false, true, false, 2},
                               Case{"{\"a\":1}", none, none, none, false, false, true, 1}}) {
    SCOPED_TRACE(expected.text);
    const Value value = value_of(expected.text);
    EXPECT_EQ(value.boolean(), expected.boolean);
    EXPECT_EQ(value.string(), expected.string);
    EXPECT_EQ(value.number(), expected.number);
    EXPECT_EQ(value.is_null(), expected.null);
    EXPECT_EQ(value.is_array(), expected.array);
    EXPECT_EQ(value.is_object(), expected.object);
    EXPECT_EQ(value.size(), expected.size);
    EXPECT_EQ(value.elements().size(), expected.array ? expected.size : 0);
    EXPECT_EQ(value.members().size(), expected.object ? expected.size : 0);
    EXPECT_EQ(value.find("a").has_value(), expected.object);
    EXPECT_EQ(value.serialize(), expected.number == 1.5 ? value.serialize_sorted() : expected.text);
  }
}

TEST(JsonValue, IntegersAreExactOrNothing) {
  struct Case {
    const char* text;
    std::optional<std::int64_t> int64;
    std::optional<std::uint64_t> uint64, whole;
  };
  const auto none = std::nullopt;
  for (const Case& expected :
       {Case{"0", 0, 0u, 0u}, Case{"-1", -1, none, none},
        Case{"9223372036854775807", INT64_MAX, INT64_MAX, INT64_MAX},
        Case{"9223372036854775808", none, 1ull << 63, 1ull << 63},
        Case{"18446744073709551615", none, UINT64_MAX, UINT64_MAX},
        Case{"18446744073709551616", none, none, none},
        Case{"-9223372036854775809", none, none, none}, Case{"5.0", none, none, 5u},
        Case{"5e0", none, none, 5u}, Case{"5.5", none, none, none}, Case{"\"5\"", none, none, none},
        Case{"true", none, none, none}, Case{"null", none, none, none},
        Case{"[5]", none, none, none}}) {
    SCOPED_TRACE(expected.text);
    const Value value = value_of(expected.text);
    EXPECT_EQ(value.int64(), expected.int64);
    EXPECT_EQ(value.uint64(), expected.uint64);
    EXPECT_EQ(value.whole_number(), expected.whole);
  }
}

TEST(JsonValue, FindsMembersAndElements) {
  const Value value = value_of(R"({"a":{"b":[1,"x",null]},"n":null,"a/b":7,"":8})");
  EXPECT_EQ(value.find("a")->find("b")->elements().at(1).string(), "x");
  EXPECT_TRUE(value.find("n")->is_null());
  EXPECT_FALSE(value.find("b"));
  EXPECT_FALSE(value.find("n")->find("a"));
  EXPECT_EQ(value.find("")->int64(), 8);
  EXPECT_EQ(value.find_pointer("/a/b/0")->int64(), 1);
  EXPECT_EQ(value.find_pointer("/a~1b")->int64(), 7);
  for (const char* missing : {"/a/c", "/a/b/3", "/n/x", "a", "/a/b/x"})
    EXPECT_FALSE(value.find_pointer(missing)) << missing;
  std::vector<std::string> names;
  for (const Member& member : value.members()) names.push_back(member.name);
  EXPECT_EQ(names, (std::vector<std::string>{"a", "n", "a/b", ""}));
}

TEST(JsonValue, OutlivesTheDocument) {
  std::optional<Value> inner;
  {
    const Value document = value_of(R"({"a":["a text that is too long for a short string"]})");
    inner = document.find("a")->elements().at(0);
  }
  EXPECT_EQ(inner->string(), "a text that is too long for a short string");
}

TEST(JsonValue, SortsMembersOfEveryObject) {
  const Value value =
      value_of(R"( { "b" : [ {"z":1, "y":"\n"} , {} , [] ], "a" : -1, "B":true } )");
  EXPECT_EQ(value.serialize(), R"({"b":[{"z":1,"y":"\n"},{},[]],"a":-1,"B":true})");
  EXPECT_EQ(value.serialize_sorted(), R"({"B":true,"a":-1,"b":[{"y":"\n","z":1},{},[]]})");
}

}  // namespace
}  // namespace coffer::json
