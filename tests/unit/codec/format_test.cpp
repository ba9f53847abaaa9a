// SPDX-License-Identifier: Apache-2.0
// The bytes that docs/internals/codec.md promises, the schemas, and what holds at compile time.
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "unit/codec/codec_testing.hpp"

namespace weft {

namespace format_tests {

/// Trees without numbers below one number, through a type with hooks.
struct HookedTree;
struct HookedTrees {
  std::vector<HookedTree> trees;
};
struct HookedTree {
  HookedTrees below;
};
struct CountedForest {
  std::int32_t count;
  HookedTree tree;
};
/// A number in each tree.
struct NestedForest;
struct NestedForests {
  std::vector<NestedForest> trees;
};
struct NestedForest {
  std::int32_t count;
  NestedForests below;
};

}  // namespace format_tests

template <>
struct CodecTraits<format_tests::HookedTree> {
  using Wire = format_tests::HookedTrees;
  static const Wire& to_wire(const format_tests::HookedTree& tree) { return tree.below; }
  static bool from_wire(Wire wire, format_tests::HookedTree& tree) {
    tree.below = std::move(wire);
    return true;
  }
};

using namespace weft::detail;
using namespace format_tests;
namespace {

using testing::encoded_hex;

struct Pair32 {
  std::int32_t a, b;
};
struct Named {
  std::int32_t a;
  std::string b;
};
struct Linked {
  std::int32_t value;
  std::unique_ptr<Linked> next;
};
struct Forest {
  std::vector<Forest> trees;
  std::string name;
};

TEST(CodecFormat, NumbersAreLittleEndianAndUnpadded) {
  EXPECT_EQ(encoded_hex(std::uint8_t{1}, std::uint32_t{0x01020304}, true, std::int16_t{-2}),
            "01 04 03 02 01 01 fe ff");
  EXPECT_EQ(encoded_hex(1.0), "00 00 00 00 00 00 f0 3f");
  EXPECT_EQ(encoded_hex(1.5L), "00 00 00 00 00 00 00 00 00 00 00 00 00 80 ff 3f");
  EXPECT_EQ(encoded_hex(std::chrono::seconds{2}), "02 00 00 00 00 00 00 00");
}

TEST(CodecFormat, StringsAreACountAndBytes) {
  EXPECT_EQ(encoded_hex(std::string_view{"hey"}), "03 00 00 00 68 65 79");
  EXPECT_EQ(encoded_hex(std::string{}), "00 00 00 00");
}

TEST(CodecFormat, ElementsOfAFixedSizeBeginAlignedInTheMessage) {
  EXPECT_EQ(encoded_hex(std::vector<std::uint8_t>{1, 2}), "02 00 00 00 01 02");
  EXPECT_EQ(encoded_hex(std::uint8_t{9}, std::vector<std::uint16_t>{1, 2}), "09 02 00 00 00 00 01 00 02 00");
  EXPECT_EQ(encoded_hex(std::vector<double>{}), "00 00 00 00 00 00 00 00");
  EXPECT_EQ(encoded_hex(std::uint8_t{9}, std::deque<Pair32>{{1, 2}}),
            "09 01 00 00 00 00 00 00 01 00 00 00 02 00 00 00");
  EXPECT_EQ(encoded_hex(std::map<std::uint8_t, std::uint16_t>{{1, 2}}), "01 00 00 00 01 02 00");
  EXPECT_EQ(encoded_hex(std::uint8_t{9}, std::vector<std::string>{"a"}), "09 01 00 00 00 01 00 00 00 61")
      << "elements of different sizes are not padded";
}

TEST(CodecFormat, ChoicesBeginWithAByte) {
  EXPECT_EQ(encoded_hex(std::optional<std::uint8_t>{5}, std::optional<std::uint8_t>{}), "01 05 00");
  EXPECT_EQ(encoded_hex(std::make_unique<std::uint16_t>(5)), "01 05 00");
  EXPECT_EQ(encoded_hex(std::variant<std::monostate, bool>{true}), "01 01");
  EXPECT_EQ(encoded_hex(Result<std::uint8_t>{3}), "01 03");
  EXPECT_EQ(encoded_hex(Result<void>{Status{StatusCode::kNotFound, Layer::kUser, "no", 9, Retry::kBackoff}}),
            "00 05 01 02 09 00 00 00 02 00 00 00 6e 6f");
  Status busy{StatusCode::kUnavailable, Layer::kUser, "no", 9, Retry::kBackoff};
  busy.set_retry_after(std::chrono::milliseconds{258});
  EXPECT_EQ(encoded_hex(Result<void>{busy}), "00 0e 01 82 09 00 00 00 02 00 00 00 6e 6f 02 01 00 00");
}

TEST(CodecFormat, AggregatesTuplesAndArraysHaveNothingBetweenTheirMembers) {
  const auto bytes = "01 00 00 00 02 00 00 00";
  EXPECT_EQ(encoded_hex(Pair32{1, 2}), bytes);
  EXPECT_EQ(encoded_hex(std::tuple{1, 2}), bytes);
  EXPECT_EQ(encoded_hex(std::pair{1, 2}), bytes);
  EXPECT_EQ(encoded_hex(std::array{1, 2}), bytes);
  EXPECT_EQ(encoded_hex(1, 2), bytes);
}

TEST(CodecFormat, EqualSchemasMeanEqualBytes) {
  const std::vector<Pair32> vector{{1, 2}, {3, 4}};
  const std::list<std::pair<std::int32_t, std::int32_t>> list{{1, 2}, {3, 4}};
  static_assert(schema_hash<decltype(vector)>() == schema_hash<decltype(list)>());
  EXPECT_EQ(encoded_hex(true, vector), encoded_hex(true, list));
  EXPECT_EQ(encoded_hex(true, std::span<const Pair32>{vector}), encoded_hex(true, list));
}

TEST(CodecSchema, TextNamesTheStructure) {
  EXPECT_EQ((schema_text<int, std::string, std::pair<double, std::vector<std::byte>>>()),
            "(i32, string, {f64, [u8]})");
  // Two clocks whose epochs differ are two types.
  EXPECT_EQ((schema_text<std::chrono::sys_seconds, std::chrono::local_seconds>()),
            "(time<duration<i64 x 1/1>>, other_time<duration<i64 x 1/1>>)");
  EXPECT_TRUE(schema_text<std::chrono::file_clock::time_point>().starts_with("(file_time<"));
  EXPECT_TRUE(schema_text<std::chrono::steady_clock::time_point>().starts_with("(steady_time<"));
  EXPECT_EQ(schema_text<>(), "()");
  EXPECT_EQ((schema_text<std::map<int, std::set<bool>>, std::multimap<char, std::u16string>>()),
            "(map[i32: set[bool]], multimap[char: [u16]])");
  EXPECT_EQ(
      (schema_text<std::variant<std::monostate, int>, std::optional<std::array<int, 3>>, Result<void>>()),
      "(<{} | i32>, [i32; 3]?, result<>)");
  EXPECT_EQ((schema_text<std::chrono::milliseconds, std::chrono::sys_seconds, long double>()),
            "(duration<i64 x 1/1000>, time<duration<i64 x 1/1>>, f128)");
}

TEST(CodecSchema, RecursionThroughHooksIsTheRecursionOfAnotherType) {
  EXPECT_EQ(schema_text<CountedForest>(), "({i32, {[^@2]}})");
  EXPECT_EQ(schema_text<NestedForest>(), "({i32, {[^1]}})");
  EXPECT_NE(schema_hash<CountedForest>(), schema_hash<NestedForest>());
}

TEST(CodecSchema, RecursiveTypesReferToThemselves) {
  EXPECT_EQ(schema_text<Linked>(), "({i32, ^0?})");
  EXPECT_EQ(schema_text<Forest>(), "({[^0], string})");
}

TEST(CodecSchema, TheHashIsTheOneThatTheFormatSpecifies) {
  // FNV-1a of "(i32)"; worked out by hand, so that a change of the hash is seen.
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : std::string_view{"(i32)"})
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  EXPECT_EQ(schema_hash<std::int32_t>(), hash);
  EXPECT_EQ((schema_hash<Compatible<bool>, std::int32_t, Compatible<bool>>()), hash);
}

template <typename... As>
struct Same {
  template <typename... Bs>
  static constexpr bool as = schema_hash<As...>() == schema_hash<Bs...>();
};
using Ints = std::vector<int>;
static_assert(Same<std::string>::as<std::string_view>);
static_assert(Same<Ints>::as<std::span<const int>> && Same<Ints>::as<std::deque<int>> &&
              Same<Ints>::as<std::list<int>>);
static_assert(Same<long>::as<long long> && Same<std::byte>::as<std::uint8_t>);
static_assert(Same<Pair32>::as<std::pair<int, int>> && Same<Pair32>::as<std::tuple<int, int>>);
static_assert(Same<std::map<int, bool>>::as<std::unordered_map<int, bool>>);
static_assert(Same<std::set<int>>::as<std::unordered_set<int>>);
static_assert(Same<std::optional<int>>::as<std::unique_ptr<int>>);
static_assert(Same<std::array<int, 2>>::as<int[2]>);
static_assert(!Same<int>::as<unsigned> && !Same<int>::as<float> && !Same<int>::as<long>);
static_assert(!Same<int, int>::as<int> && !Same<int, int>::as<Pair32> && !Same<>::as<int>);
static_assert(!Same<std::string>::as<Ints> && !Same<Ints>::as<std::set<int>> &&
              !Same<Ints>::as<std::array<int, 2>>);
static_assert(!Same<std::set<int>>::as<std::multiset<int>> && !Same<std::optional<int>>::as<int>);
static_assert(!Same<std::variant<int, bool>>::as<std::variant<bool, int>>);
static_assert(!Same<std::chrono::seconds>::as<std::chrono::milliseconds>);
static_assert(!Same<Named>::as<Pair32> && !Same<bool>::as<std::uint8_t>);

static_assert(fixed_size<>() == 0U && fixed_size<int, double>() == 12U);
static_assert(fixed_size<Pair32, std::array<bool, 3>, std::chrono::seconds>() == 19U);
static_assert(!fixed_size<std::string>() && !fixed_size<std::optional<int>>() &&
              !fixed_size<Compatible<int>>());

struct Derived : Pair32 {
  int c;
};
struct TooWide {
  std::array<int, 1> a[1];
  int f01, f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14, f15, f16, f17, f18, f19, f20, f21,
      f22, f23, f24, f25, f26, f27, f28, f29, f30, f31, f32;
};
class Closed {
 public:
  explicit Closed(int value) : value_(value) {}
  int value() const { return value_; }

 private:
  int value_;
};
union Either {
  int a;
  float b;
};
struct NeedsValue {
  const int fixed = 0;
};

using codec_detail::decode_problem;
using codec_detail::encode_problem;
using codec_detail::Problem;
static_assert(encode_problem<const char*> == Problem::kRawPointer);
static_assert(encode_problem<std::vector<int*>> == Problem::kRawPointer);
static_assert(encode_problem<std::shared_ptr<int>> == Problem::kSharedPointer);
static_assert(encode_problem<std::tuple<int&>> == Problem::kReference);
static_assert(encode_problem<Derived> == Problem::kBaseClass);
static_assert(encode_problem<std::optional<TooWide>> == Problem::kTooManyFields);
static_assert(encode_problem<Closed> == Problem::kNotAggregate);
static_assert(encode_problem<Either> == Problem::kUnion);
static_assert(Encodable<std::span<const std::string>>);
static_assert(decode_problem<std::span<const std::string>> == Problem::kViewOfNotPlain);
static_assert(decode_problem<std::span<const bool>> == Problem::kViewOfNotPlain, "a bool needs a check");
static_assert(decode_problem<std::span<int>> == Problem::kMutableView);
static_assert(decode_problem<std::span<const int, 2>> == Problem::kFixedSpan);
static_assert(Encodable<NeedsValue> && decode_problem<NeedsValue> == Problem::kConst);
static_assert(Decodable<std::u16string_view> && Decodable<std::span<const Pair32>>);
static_assert(Encodable<const Named&> && Encodable<Linked> && Decodable<Forest>);

}  // namespace
}  // namespace weft
