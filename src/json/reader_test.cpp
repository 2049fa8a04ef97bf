#include "json/reader.h"
#include "base/result.h"

#include <gtest/gtest.h>

namespace coffer::json {
namespace {

// "ok", or the error as "code: message".
template <typename T>
std::string outcome(const Result<T>& result) {
  if (result) return "ok";
  return fmt::format("{}: {}", info(result.error().code).name, result.error().message);
}
const std::string kInvalid(info(Code::kInvalidInput).name);
const std::string kLarge(info(Code::kTooLarge).name);

TEST(JsonReader, RefusesAnythingButOneDocument) {
  for (const char* bad : {"", " ", "{", "{} {}", "[1,]", "{\"a\":1,}", "nul", "'a'", "\"\xff\"",
                          "{1:2}", "// x\n1", "NaN", "01"})
    EXPECT_TRUE(outcome(parse(bad)).starts_with(kInvalid + ": not JSON: ")) << bad;
  for (const char* good : {"{}", " [ ] ", "1", "\"a:b\"", "null"})
    EXPECT_EQ(outcome(parse(good)), "ok") << good;
}

TEST(JsonReader, RefusesDuplicateNames) {
  for (const char* twice : {R"({"a":1,"a":1})", R"({"a":1,"\u0061":2})", R"([{"b":{"a":1,"a":2}}])",
                            R"({"a":{"a":1},"a":{}})", R"({"":1,"":2})"})
    EXPECT_EQ(outcome(parse(twice)), kInvalid + ": a field is there twice") << twice;
  for (const char* once : {R"({"a":{"a":1}})", R"([{"a":1},{"a":1}])", R"({"a":":","b":"\":"})",
                           R"({"a\\":1,"a\"":"\\"})", R"({"a:":1})"})
    EXPECT_EQ(outcome(parse(once)), "ok") << once;
}

TEST(JsonReader, BoundsDepthAndSize) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(outcome(parse(nested(32))), "ok");
  EXPECT_NE(outcome(parse(nested(33))), "ok");
  EXPECT_EQ(outcome(parse(nested(2), {.max_depth = 2})), "ok");
  EXPECT_NE(outcome(parse(nested(3), {.max_depth = 2})), "ok");
  EXPECT_EQ(outcome(parse("\"12\"", {.max_bytes = 4})), "ok");
  EXPECT_EQ(outcome(parse("\"123\"", {.max_bytes = 4})),
            kLarge + ": 5 bytes of JSON, at most 4 are read");
  EXPECT_EQ(outcome(parse(std::string((16u << 20) + 1, ' '))),
            kLarge + ": 16777217 bytes of JSON, at most 16777216 are read");
}

TEST(JsonObjectReader, TakesKnownFieldsOnly) {
  const auto of = [](std::string_view body, std::vector<std::string_view> known) {
    return outcome(ObjectReader::parse(body, std::move(known)));
  };
  EXPECT_EQ(of("", {}), "ok");
  EXPECT_EQ(of("{}", {"a"}), "ok");
  EXPECT_EQ(of(R"({"b":1,"a":null})", {"a", "b"}), "ok");
  EXPECT_EQ(of(R"({"a":1,"c":2})", {"a", "b"}), kInvalid + ": unknown field 'c'; known are a, b");
  EXPECT_EQ(of(R"({"a":1})", {}), kInvalid + ": unknown field 'a'; known are none");
  EXPECT_EQ(of("{\"" + std::string(200, 'x') + "\":1}", {"a"}),
            kInvalid + ": unknown field '" + std::string(100, 'x') + "'; known are a");
  EXPECT_EQ(of("[]", {}), kInvalid + ": the body must be a JSON object");
  EXPECT_TRUE(of("{", {}).starts_with(kInvalid + ": the body: not JSON: "));
  EXPECT_EQ(of(R"({"a":1,"a":1})", {"a"}), kInvalid + ": the body: a field is there twice");
  EXPECT_EQ(outcome(ObjectReader::of(parse("[]").value(), {})), kInvalid + ": expected an object");
}

TEST(JsonObjectReader, ReadsFieldsByType) {
  const auto reader = ObjectReader::parse(
      R"({"text":"x","number":7,"yes":true,"list":[1,2,3],"nothing":null,"double":7.0,"none":[]})",
      {"text", "number", "yes", "list", "nothing", "double", "none", "absent"});
  ASSERT_EQ(outcome(reader), "ok");
  EXPECT_EQ(reader->text("text").value(), "x");
  EXPECT_EQ(reader->text_if("text").value(), std::optional<std::string>("x"));
  EXPECT_EQ(reader->whole_if("number", 7, 7).value(), std::optional<std::uint64_t>(7));
  EXPECT_EQ(reader->flag("yes").value(), true);
  EXPECT_EQ(reader->list("list", "numbers", 3)->at(2).int64(), 3);
  for (const char* absent : {"nothing", "absent"}) {
    EXPECT_FALSE(reader->find(absent));
    EXPECT_EQ(reader->text_if(absent).value(), std::optional<std::string>());
    EXPECT_EQ(reader->whole_if(absent, 1, 2).value(), std::optional<std::uint64_t>());
    EXPECT_EQ(reader->flag(absent).value(), false);
    EXPECT_EQ(outcome(reader->text(absent)),
              fmt::format("{}: {}: missing; expected a string", kInvalid, absent));
  }
  EXPECT_EQ(outcome(reader->text("number")), kInvalid + ": number: expected a string");
  EXPECT_EQ(outcome(reader->flag("text")), kInvalid + ": text: expected true or false");
  EXPECT_EQ(outcome(reader->whole_if("number", 8, 9)),
            kInvalid + ": number: expected a whole number from 8 to 9");
  for (const char* wrong : {"double", "text", "yes", "list"})
    EXPECT_EQ(outcome(reader->whole_if(wrong, 0, 9)),
              fmt::format("{}: {}: expected a whole number from 0 to 9", kInvalid, wrong));
  for (const char* wrong : {"none", "text", "absent"})
    EXPECT_EQ(outcome(reader->list(wrong, "numbers", 3)),
              fmt::format("{}: {}: expected a list of numbers", kInvalid, wrong));
  EXPECT_EQ(outcome(reader->list("list", "numbers", 2)),
            kLarge + ": list: 3 at once, the most is 2");
}

}  // namespace
}  // namespace coffer::json
