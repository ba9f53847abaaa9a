// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/describe/description.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "unit/describe/describe_testing.hpp"

namespace weft::testing {
namespace {

struct Place {
  double x = 0;
  double y = 0;
};
struct Forest {
  std::string name;
  std::vector<Forest> children;
  std::unique_ptr<Forest> other;
  Compatible<Place, 2> place;
};
struct Wood {
  std::string name;
  std::vector<Wood> children;
  std::array<std::vector<Wood>, 2> quarters;
};

TEST(NamedSchema, NamesTheFieldsOfAggregates) {
  EXPECT_EQ((named_schema_text<Place, std::pair<int, Place>>()),
            "({x: f64, y: f64}, {i32, {x: f64, y: f64}})");
  EXPECT_EQ(named_schema_text<Wood>(), "({name: string, children: [^0], quarters: [[^0]; 2]})");
  struct Local {
    int first;
    Compatible<int, 2> second;
  };
  EXPECT_EQ(named_schema_text<Local>(), "({first: i32, second: +v2 i32})");
}

TEST(NamedSchema, HasTheHashOfTheSchema) {
  NamedSchemaWriter writer;
  writer.put("(");
  writer.list<Wood, Compatible<Place>, Place>();
  writer.put(")");
  EXPECT_EQ(writer.hash(), (schema_hash<Wood, Compatible<Place>, Place>()));
}

/// A type with hooks that contains itself.
struct Chain {
  std::vector<Chain> links;
};

}  // namespace
}  // namespace weft::testing

template <>
struct weft::CodecTraits<weft::testing::Chain> {
  using Wire = std::vector<weft::testing::Chain>;
  static const Wire& to_wire(const weft::testing::Chain& chain) { return chain.links; }
  static bool from_wire(Wire&& links, weft::testing::Chain& out) {
    out.links = std::move(links);
    return true;
  }
};

namespace weft::testing {
namespace {

/// The message for a `text` that is refused; empty for a text that is a valid description.
std::string fault_of(std::string_view text) {
  const auto types = TypeDescription::parse(text);
  return types.ok() ? "" : std::string{types.status().message()};
}

void expect_malformed(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    const auto types = TypeDescription::parse(text);
    ASSERT_FALSE(types.ok()) << text;
    EXPECT_EQ(types.status().code(), StatusCode::kInvalidArgument) << text;
  }
}

void expect_parsed(const std::vector<std::string>& texts) {
  for (const std::string& text : texts) EXPECT_EQ(fault_of(text), "") << text;
}

TEST(Description, HasTheSizesOfTheCodec) {
  const TypeDescription types =
      described<std::map<std::uint8_t, double>, std::vector<Place>, std::array<std::uint16_t, 3>>();
  const auto& list = types.node(types.root());
  const auto part = [&](std::uint32_t place) { return types.node(types.part(list, place).node); };
  EXPECT_EQ(part(0).element_alignment, 8);
  EXPECT_EQ(part(0).element_min, 9);
  EXPECT_EQ(part(1).element_alignment, 8);
  EXPECT_EQ(part(2).fixed_size, 6);
  EXPECT_EQ(list.size_min, 4 + 4 + 6);
  EXPECT_EQ(list.fixed_size, TypeDescription::kNotFixed);
}

TEST(Description, ResolvesReferences) {
  const TypeDescription types = described<std::pair<int, Wood>>();
  const auto& pair = types.node(types.part(types.node(types.root()), 0).node);
  const std::uint32_t wood = types.part(pair, 1).node;
  const auto& children = types.node(types.part(types.node(wood), 1).node);
  EXPECT_EQ(types.part(children, 0).node, wood);
}

TEST(Description, ResolvesReferencesToTypesWithHooks) {
  struct Places {
    Compatible<int, 1> before;
    int number;
    Chain chain;
  };
  EXPECT_EQ(named_schema_text<Places>(), "({before: +v1 i32, number: i32, chain: [^@1]})");
  const TypeDescription types = described<Places>();
  const auto& places = types.node(types.part(types.node(types.root()), 0).node);
  const std::uint32_t chain = types.part(places, 2).node;
  EXPECT_EQ(types.part(types.node(chain), 0).node, chain);
}

TEST(Description, RefusesMalformedText) {
  expect_malformed({"",
                    "(",
                    "i32",
                    "(i32",
                    "(i32))",
                    "(i32,i32)",
                    "(i32, )",
                    "(, i32)",
                    "([i32)",
                    "([i32; ])",
                    "([i32; x])",
                    "([i32; 4294967296])",
                    "(map[i32])",
                    "(map[i32: ])",
                    "(set[])",
                    "({i32)",
                    "(<>)",
                    "(<i32 |>)",
                    "(i32 ?)",
                    "(?)",
                    "(^0)",
                    "({^1?})",
                    "([^@0])",
                    "([^@2])",
                    "(duration<string x 1/1>)",
                    "(duration<i64 x 1>)",
                    "(time<i64>)",
                    "(+v i32)",
                    "(+v1i32)",
                    "(result<i32)",
                    "(expected<i32>)",
                    "(expected<i32,>)"});
  EXPECT_EQ(fault_of("(i32, )"), "malformed description of types at byte 6: a type is missing");
}

TEST(Description, RefusesNamesThatAreNotOfFields) {
  std::string many = "({f0: i32";
  for (int i = 1; i <= 32; ++i) many += ", f" + std::to_string(i) + ": i32";
  expect_malformed(
      {"(x: i32)", "({x: i32, x: i32})", "({x: i32, i32})", "({0: i32})", "({\xff: i32})", many + "})"});
  expect_parsed({"({string: string, i32: i32})"});
}

TEST(Description, RefusesTypesWithoutAnEnd) {
  expect_malformed({"({^0})", "({i32, {^1}})", "({[^0; 2]})", "({[[^0; 2]; 2]})"});
  expect_parsed({"({[[^0]; 2]})", "({[^0?; 2]})", "([{[^0]}; 2])", "({^0?})"});
}

TEST(Description, RefusesAdditionsWhereNoneMayStand) {
  expect_malformed({"([+v1 i32])", "({+v1 i32}?)", "(+v1 {+v2 i32})", "(<+v1 i32>)", "([{+v1 i32}; 2])",
                    "(map[i32: {+v1 i32}])", "(+v4294967296 i32)"});
}

TEST(Description, BoundsDepthSizeAndLength) {
  const auto nested = [](std::size_t depth) {
    return "(" + std::string(depth, '[') + "i32" + std::string(depth, ']') + ")";
  };
  expect_parsed({nested(DescriptionBounds::kDepthMax - 1)});
  std::string wide = "(i8";
  while (wide.size() < DescriptionBounds::kTextBytesMax) wide += ", i8";
  expect_malformed({nested(DescriptionBounds::kDepthMax), "([[[i64; 4294967295]; 4294967295]; 4294967295])",
                    wide + ")", "([i8" + std::string(DescriptionBounds::kTextBytesMax, ' ')});
}

TEST(Description, NamesTypesWithAnEncodingOfTheirOwn) {
  const auto types = TypeDescription::parse("(i32, blob)");
  ASSERT_FALSE(types.ok());
  EXPECT_EQ(types.status().code(), StatusCode::kUnimplemented);
  EXPECT_EQ(types.status().message(),
            "the type 'blob' has an encoding of its own, which its description does not tell");
}

TEST(MethodDescription, HasArgumentsResultAndItems) {
  auto method = MethodDescription::parse("(i32, string) -> (f64)");
  ASSERT_TRUE(method.ok()) << method.status().to_string();
  EXPECT_EQ(method->arguments.node(method->arguments.root()).count, 2);
  ASSERT_TRUE(method->result);
  EXPECT_EQ(method->result->node(method->result->root()).shape, Shape::kFloat);
  EXPECT_FALSE(method->items_in || method->items_out);
  method = MethodDescription::parse("stream of (i32), () -> void, stream of ({x: f64})");
  ASSERT_TRUE(method.ok()) << method.status().to_string();
  EXPECT_FALSE(method->result);
  ASSERT_TRUE(method->items_in && method->items_out);
  EXPECT_EQ(method->items_in->node(method->items_in->root()).shape, Shape::kSigned);
  for (const char* text : {"", "()", "() -> ", "() -> voi", "() -> void, stream of ", "stream of () -> void",
                           "() -> void and more", "(bad) -> void"}) {
    EXPECT_FALSE(MethodDescription::parse(text).ok()) << text;
  }
}

}  // namespace
}  // namespace weft::testing
