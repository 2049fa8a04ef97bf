#include "json/schema.h"

#include <gtest/gtest.h>

#include "json/reader.h"

namespace coffer::json {
namespace {

TEST(JsonSchema, PiecesAreJson) {
  for (const std::string* piece :
       {&schema::kText, &schema::kTextOrNull, &schema::kWhole, &schema::kWholeOrNull,
        &schema::kFlag, &schema::kAmount, &schema::kAmountOrNull, &schema::kHex,
        &schema::kHexOrNull, &schema::kHash, &schema::kHashOrNull})
    EXPECT_TRUE(parse(*piece).value().find("type")) << *piece;
}

TEST(JsonSchema, MakesObjectsOfPieces) {
  EXPECT_EQ(schema::answer({{"a", schema::kFlag}, {"b", schema::refer("B")}}),
            R"({"type":"object","required":["a","b"],"properties":{"a":{"type":"boolean"},)"
            R"("b":{"$ref":"#/components/schemas/B"}}})");
  EXPECT_EQ(schema::object_of({{"a", schema::list_of(schema::kText)}}, {}, true),
            R"({"type":"object","required":[],"properties":{"a":{"type":"array",)"
            R"("items":{"type":"string"}}},"additionalProperties":false})");
}

}  // namespace
}  // namespace coffer::json
