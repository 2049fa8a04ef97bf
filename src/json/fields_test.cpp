#include "json/fields.h"

#include <gtest/gtest.h>

namespace coffer::json {

struct Wheel {
  static constexpr std::string_view kSchema = "Wheel";
  std::uint8_t spokes = 0;
};

struct Cart {
  std::string name;
  bool loaded = false;
  std::int64_t metres = 0;
  std::optional<std::string> owner;
  std::vector<Wheel> wheels;
};

template <typename Visitor, FieldsOf<Wheel> T>
void visit_fields(Visitor& v, T& wheel) {
  v("spokes", wheel.spokes);
}

template <typename Visitor, FieldsOf<Cart> T>
void visit_fields(Visitor& v, T& cart) {
  v("name", cart.name);
  v("loaded", cart.loaded);
  v("metres", cart.metres);
  v("owner", cart.owner);
  v("wheels", cart.wheels);
}

namespace {

constexpr std::string_view kCart =
    R"({"name":"c","loaded":true,"metres":-5,"owner":null,"wheels":[{"spokes":8},{"spokes":255}]})";

Result<Cart> read_cart(std::string_view text) {
  return read_fields<Cart>(parse(text).value());
}

TEST(JsonFields, WrittenFieldsAreReadBack) {
  const Cart cart{"c", true, -5, {}, {{8}, {255}}};
  EXPECT_EQ(write_fields(cart), kCart);
  const Cart read = read_cart(kCart).value();
  EXPECT_EQ(write_fields(read), kCart);
  EXPECT_EQ(read.wheels.size(), 2u);
}

TEST(JsonFields, UnknownFieldsArePassedOver) {
  std::string more(kCart);
  more.insert(1, R"("colour":"red",)");
  EXPECT_EQ(write_fields(read_cart(more).value()), kCart);
}

TEST(JsonFields, FaultsNameTheField) {
  const struct {
    std::string_view from, to, message;
  } faults[] = {
      {R"("loaded":true,)", "", "loaded is missing"},
      {R"("name":"c")", R"("name":7)", "name is of another type"},
      {R"("metres":-5)", R"("metres":"5")", "metres is of another type"},
      {R"("owner":null)", R"("owner":false)", "owner is of another type"},
      {R"({"spokes":255})", "{}", "spokes is missing"},
      {R"("spokes":255)", R"("spokes":256)", "spokes is of another type"},
      {R"("spokes":255)", R"("spokes":-1)", "spokes is of another type"},
  };
  for (const auto& fault : faults) {
    std::string text(kCart);
    text.replace(text.find(fault.from), fault.from.size(), fault.to);
    const auto read = read_cart(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().code, Code::kCorrupt);
    EXPECT_EQ(read.error().message, fault.message);
  }
  EXPECT_EQ(read_cart("[]").error().message, "no object");
}

TEST(JsonFields, NamesAreThoseOfTheStructItself) {
  EXPECT_EQ(names_of_fields<Cart>(),
            (std::vector<std::string>{"name", "loaded", "metres", "owner", "wheels"}));
}

TEST(JsonFields, SchemaRequiresEveryField) {
  EXPECT_EQ(schema_of_fields<Wheel>(),
            R"({"type":"object","properties":{"spokes":{"type":"integer","format":"int64"}},)"
            R"("required":["spokes"]})");
  const Value cart = parse(schema_of_fields<Cart>([](FieldsSchema& schema) {
                       schema.names.emplace_back("brake");
                       schema.out.key("brake").raw(R"({"type":"null"})");
                     })).value();
  EXPECT_EQ(cart.find("required")->serialize(),
            R"(["name","loaded","metres","owner","wheels","brake"])");
  const Value properties = *cart.find("properties");
  EXPECT_EQ(properties.members().size(), 6u);
  EXPECT_EQ(properties.find("owner")->serialize(),
            R"({"oneOf":[{"type":"string"},{"type":"null"}]})");
  EXPECT_EQ(properties.find("wheels")->serialize(),
            R"({"type":"array","items":{"$ref":"#/components/schemas/Wheel"}})");
}

}  // namespace
}  // namespace coffer::json
