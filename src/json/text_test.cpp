#include "json/text.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/random.h"

namespace coffer::json {
namespace {

TEST(JsonText, FindsMembersAndElementsInPlace) {
  const std::string text =
      " { \"a\" : [ 1 , \"x,]}\\\"\" , {} , [] ] , \"b\":{\"a\":2},\"c\":null "
      ",\"a\\u0062\":\"\\\\\""
      ",\"d\":-7,\"d\":  -8 }\r\n";
  const Text all = Text::parse(text).value();
  EXPECT_TRUE(all.is_object());
  std::vector<std::string> elements;
  all.find("a")->for_each([&](Text element) {
    elements.emplace_back(element.text());
    return true;
  });
  EXPECT_EQ(elements, (std::vector<std::string>{"1", "\"x,]}\\\"\"", "{}", "[]"}));
  EXPECT_EQ(all.find("b")->find("a")->integer(), 2);
  EXPECT_TRUE(all.find("c")->is_null());
  EXPECT_EQ(all.find("ab")->string(10), "\\");
  EXPECT_EQ(all.find("d")->integer(), -8) << "the last one counts";
  EXPECT_FALSE(all.find("x"));
  EXPECT_FALSE(all.find("c")->find("x"));
  int visited = 0;
  all.find("a")->for_each([&](Text) { return ++visited < 2; });
  EXPECT_EQ(visited, 2);
}

TEST(JsonText, ReadsStringsAndNumbers) {
  const auto of = [](const char* text) { return Text::parse(text).value(); };
  EXPECT_EQ(of("\"abc\"").plain_string(), "abc");
  EXPECT_EQ(of("\"\"").plain_string(), "");
  EXPECT_EQ(of("\"a\\nb\"").plain_string(), std::nullopt);
  EXPECT_EQ(of("\"a\\nb\"").string(3), "a\nb");
  EXPECT_EQ(of("\"a\\nb\"").string(2), std::nullopt);
  EXPECT_EQ(of("\"abc\"").string(2), std::nullopt);
  EXPECT_EQ(of("7").string(10), std::nullopt);
  EXPECT_EQ(of("9223372036854775807").integer(), INT64_MAX);
  for (const char* no : {"9223372036854775808", "1.0", "1e3", "\"1\"", "null", "[1]"})
    EXPECT_EQ(of(no).integer(), std::nullopt) << no;
}

TEST(JsonText, RefusesAnythingButOneDocument) {
  const std::string deep_enough = std::string(32, '[') + std::string(32, ']');
  EXPECT_TRUE(Text::parse(deep_enough));
  EXPECT_FALSE(Text::parse("[" + deep_enough + "]"));
  for (const char* bad : {"", " ", "{", "{} {}", "{}x", "[1,]", "{\"a\"}", "{\"a\":1,}", "nul",
                          "\"a", "\"\\x\"", "01", "'a'", "\"\xff\"", "[1 2]", "{1:2}"})
    EXPECT_FALSE(Text::parse(bad)) << bad;
}

// The same as a tree of it, for texts of every shape.
void compare(Text text, const boost::json::value& tree) {
  ASSERT_EQ(text.is_object(), tree.is_object());
  ASSERT_EQ(text.is_array(), tree.is_array());
  ASSERT_EQ(text.is_string(), tree.is_string());
  ASSERT_EQ(text.is_null(), tree.is_null());
  if (tree.is_int64()) {
    ASSERT_EQ(text.integer(), tree.get_int64());
  }
  if (tree.is_string()) {
    ASSERT_EQ(text.string(10'000), std::string(tree.get_string()));
  }
  if (const boost::json::array* array = tree.if_array()) {
    std::size_t at = 0;
    text.for_each([&](Text element) {
      compare(element, array->at(at++));
      return !testing::Test::HasFatalFailure();
    });
    ASSERT_EQ(at, array->size());
  }
  if (const boost::json::object* object = tree.if_object())
    for (const auto& [key, value] : *object) {
      const auto found = text.find(key);
      ASSERT_TRUE(found) << key;
      compare(*found, value);
    }
}

std::string random_json(Rng& rng, int depth) {
  const auto blank = [&] { return std::string(rng.one_in(4) ? rng.below(3) : 0, ' '); };
  const auto string = [&] {
    std::string text = "\"";
    for (std::uint64_t i = rng.below(6); i > 0; --i)
      text += std::array{
          "a", "\\\"", "\\\\", "]", "}", ",", ":", "\\u00e9", "é", "[", "{"}[rng.below(11)];
    return text + "\"";
  };
  const auto list = [&](char open, char close, bool keys) {
    std::string text(1, open);
    for (std::uint64_t i = 0, count = rng.below(5); i < count; ++i) {
      text += (i > 0 ? "," : "") + blank() + (keys ? string() + blank() + ":" + blank() : "");
      text += random_json(rng, depth + 1) + blank();
    }
    return text + close;
  };
  switch (rng.below(depth > 6 ? 4 : 6)) {
    case 0: return string();
    case 1: return std::to_string(static_cast<std::int64_t>(rng()));
    case 2: return rng.one_in(2) ? "null" : rng.one_in(2) ? "true" : "1.5e3";
    case 3: return "0";
    case 4: return list('[', ']', false);
    default: return list('{', '}', true);
  }
}

TEST(JsonText, AgreesWithATree) {
  const std::uint64_t seed = random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int i = 0; i < 3'000; ++i) {
    std::string text = random_json(rng, 0);
    if (rng.one_in(3)) text[rng.below(text.size())] = "\"\\[]{},:0 "[rng.below(10)];
    SCOPED_TRACE(text);
    boost::json::error_code error;
    const boost::json::value tree = boost::json::parse(text, error);
    const auto read = Text::parse(text);
    ASSERT_EQ(read.has_value(), !error);
    if (read) {
      ASSERT_NO_FATAL_FAILURE(compare(*read, tree));
    }
  }
}

}  // namespace
}  // namespace coffer::json
