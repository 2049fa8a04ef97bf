#include "sql/postgres_array.h"

#include "base/result.h"
#include "sql/test_engines.h"

namespace coffer::sql::test {
namespace {

using Element = PostgresArray::Element;

class PostgresArrays : public EngineTest {
 protected:
  std::vector<std::string> texts(std::string_view sql, Params params) {
    std::vector<std::string> list;
    const auto read = [&]() -> Result<> {
      auto connection = TRY(db().acquire());
      Rows rows = TRY(connection.query(sql, params));
      while (TRY(rows.next()))
        list.push_back(TRY(rows.get<std::optional<std::string>>(0)).value_or("NULL"));
      return {};
    }();
    EXPECT_TRUE(read) << read.error().message;
    return list;
  }
  using List = std::vector<std::string>;
};

TEST_P(PostgresArrays, EveryTypeOfElementArrives) {
  PostgresArray bytes(Element::kBytea), numbers(Element::kInt8), truths(Element::kBool),
      words(Element::kText);
  const Bytes some = {0x00, 0xff};
  for (PostgresArray* list : {&bytes, &numbers, &truths, &words}) list->add(nullptr);
  bytes.add(some), bytes.add(Bytes());
  numbers.add(std::int64_t{-1}), numbers.add(std::numeric_limits<std::int64_t>::max());
  truths.add(true), truths.add(false);
  words.add("a,b"), words.add("");
  EXPECT_EQ(texts("SELECT encode(x, 'hex') FROM unnest($1::bytea[]) x", {bytes.view()}),
            List({"NULL", "00ff", ""}));
  EXPECT_EQ(texts("SELECT x::text FROM unnest($1::bigint[]) x", {numbers.view()}),
            List({"NULL", "-1", "9223372036854775807"}));
  EXPECT_EQ(texts("SELECT x::text FROM unnest($1::boolean[]) x", {truths.view()}),
            List({"NULL", "true", "false"}));
  EXPECT_EQ(texts("SELECT x FROM unnest($1::text[]) x", {words.view()}), List({"NULL", "a,b", ""}));
}

TEST_P(PostgresArrays, EmptyListMatchesNothing) {
  PostgresArray list(Element::kInt8);
  EXPECT_TRUE(texts("SELECT 'x' WHERE 1 = ANY($1::bigint[])", {list.view()}).empty());
  list.add(1);
  EXPECT_EQ(texts("SELECT 'x' WHERE 1 = ANY($1::bigint[])", {list.view()}), List({"x"}));
  list.clear();
  EXPECT_EQ(list.size(), 0u);
  EXPECT_TRUE(texts("SELECT x::text FROM unnest($1::bigint[]) x", {list.view()}).empty());
}

COFFER_ON_EVERY_SERVER(PostgresArrays);

}  // namespace
}  // namespace coffer::sql::test
