// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "unit/codec/codec_testing.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using testing::encoded;

/// Encodes and decodes `value`; the round trip must succeed and use the bytes to the last.
template <typename T>
T round_trip(const T& value) {
  static_assert(Encodable<T> && Decodable<T>);
  const auto message = encoded(value);
  DecodeArena arena;
  T out{};
  const auto result = decode_from(message, arena, out);
  EXPECT_TRUE(result.ok()) << result.status().to_string();
  return out;
}

template <typename T>
void expect_round_trip(const T& value) {
  EXPECT_EQ(round_trip(value), value) << schema_text<T>();
}

enum class Colour : std::uint16_t { kRed = 1, kBlue = 0xFFFF };
enum class Yes : bool { kNo, kYes };
struct Empty {
  friend bool operator==(const Empty&, const Empty&) = default;
};
struct Point {
  double x = 0, y = 0;
  friend auto operator<=>(const Point&, const Point&) = default;
};
struct Holey {
  std::uint8_t small = 0;
  std::uint64_t wide = 0;
  bool flag = false;
  friend bool operator==(const Holey&, const Holey&) = default;
};
struct Everything {
  std::string name;
  std::vector<Point> points;
  std::optional<std::map<std::string, std::vector<std::int16_t>>> table;
  std::variant<std::monostate, int, std::string, std::pair<bool, Point>> choice;
  std::tuple<Colour, Yes, char> scalars;
  std::int32_t grid[2][3] = {};
  std::array<Holey, 2> holeys;
  std::unordered_map<std::uint32_t, std::set<std::string>> index;
  Empty nothing;
  friend bool operator==(const Everything&, const Everything&) = default;
};
struct Tree {
  std::int32_t value = 0;
  std::vector<Tree> children;
  friend bool operator==(const Tree&, const Tree&) = default;
};
struct Chain {
  std::int32_t value = 0;
  std::unique_ptr<Chain> next;
};
struct Wide {
  int a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9, a10 = 10, a11 = 11, a12 = 12,
      a13 = 13;
  std::string s = "middle";
  int b1 = 1, b2 = 2, b3 = 3, b4 = 4, b5 = 5, b6 = 6, b7 = 7, b8 = 8, b9 = 9, b10 = 10, b11 = 11, b12 = 12,
      b13 = 13, b14 = 14, b15 = 15, b16 = 16, b17 = 17, b18 = 18;
  friend bool operator==(const Wide&, const Wide&) = default;
};
static_assert(codec_detail::field_count<Wide> == 32);

/// Encoded through a stand-in.
class Celsius {
 public:
  Celsius() = default;
  explicit Celsius(double degrees) : degrees_(degrees) {}
  double degrees() const { return degrees_; }
  friend bool operator==(const Celsius&, const Celsius&) = default;

 private:
  double degrees_ = 0;
};
/// Encoded by hand: the bits of a byte each, behind their number.
class Bits {
 public:
  std::vector<bool> bits;
  virtual ~Bits() = default;
  friend bool operator==(const Bits& a, const Bits& b) { return a.bits == b.bits; }
};

}  // namespace

template <>
struct CodecTraits<Celsius> {
  using Wire = double;
  static Wire to_wire(const Celsius& value) { return value.degrees(); }
  static bool from_wire(Wire wire, Celsius& out) {
    out = Celsius{wire};
    return wire >= -273.15;
  }
};

// Hooks take the codec's own objects without naming their types.
template <>
struct CodecTraits<Bits> {
  static constexpr std::size_t kMinEncodedSize = 2;
  static void encoded_size(auto& size, const Bits& value) { size.skip(2 + value.bits.size()); }
  static void encode(auto& to, const Bits& value) {
    to.write(static_cast<std::uint16_t>(value.bits.size()));
    for (const bool bit : value.bits) to.write(bit);
  }
  static bool decode(auto& from, Bits& out) {
    std::uint16_t count;
    if (!from.read(count) || count > from.remaining()) return false;
    out.bits.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      bool bit;
      if (!from.read(bit)) return false;
      out.bits[i] = bit;
    }
    return true;
  }
  static constexpr void append_schema(auto& to) { to.put("bits16"); }
};

namespace {

TEST(CodecRoundTrip, NumbersOfEveryKindComeBackAtTheirLimits) {
  const auto check = []<typename... Ts>(Ts...) {
    (expect_round_trip(std::numeric_limits<Ts>::min()), ...);
    (expect_round_trip(std::numeric_limits<Ts>::max()), ...);
    (expect_round_trip(std::numeric_limits<Ts>::lowest()), ...);
    (expect_round_trip(static_cast<Ts>(1)), ...);
  };
  check(bool{}, char{}, wchar_t{}, char8_t{}, char16_t{}, char32_t{}, std::int8_t{}, std::uint8_t{},
        std::int16_t{}, std::uint16_t{}, std::int32_t{}, std::uint32_t{}, 0L, 0UL, 0LL, 0ULL, 0.0F, 0.0,
        0.0L);
  expect_round_trip(std::numeric_limits<double>::infinity());
  expect_round_trip(std::numeric_limits<long double>::denorm_min());
  expect_round_trip(-1.0L / 3.0L);
  EXPECT_TRUE(std::isnan(round_trip(std::numeric_limits<double>::quiet_NaN())));
  EXPECT_TRUE(std::isnan(round_trip(std::numeric_limits<long double>::quiet_NaN())));
}

TEST(CodecRoundTrip, AnEnumKeepsValuesThatHaveNoName) {
  expect_round_trip(Colour::kBlue);
  expect_round_trip(static_cast<Colour>(77));
  expect_round_trip(Yes::kYes);
  expect_round_trip(std::byte{200});
}

TEST(CodecRoundTrip, ContainersOfEveryShapeComeBack) {
  expect_round_trip(std::string{"with a \0 inside", 15});
  expect_round_trip(std::u16string{u"wide"});
  expect_round_trip(std::vector<int>{});
  expect_round_trip(std::vector<double>{1, 2, 3});
  expect_round_trip(std::vector<bool>{true, false, true});
  expect_round_trip(std::vector<std::string>{"a", "", "ccc"});
  expect_round_trip(std::vector<std::vector<Holey>>{{{1, 2, true}}, {}, {{3, 4, false}, {5, 6, true}}});
  expect_round_trip(std::vector<Empty>(7));
  expect_round_trip(std::deque<std::int64_t>{1, 2});
  expect_round_trip(std::list<std::string>{"x", "y"});
  expect_round_trip(std::array<std::string, 2>{"x", "y"});
  expect_round_trip(std::array<int, 0>{});
  expect_round_trip(std::set<Point>{{1, 2}, {3, 4}});
  expect_round_trip(std::multiset<int>{1, 1, 2});
  expect_round_trip(std::map<int, std::map<std::string, bool>>{{1, {{"t", true}}}, {2, {}}});
  expect_round_trip(std::multimap<int, int>{{1, 1}, {1, 2}});
  expect_round_trip(std::unordered_set<std::string>{"p", "q"});
  expect_round_trip(std::unordered_map<std::string, std::vector<int>>{{"k", {1}}, {"l", {}}});
  expect_round_trip(std::unordered_multimap<int, int>{{1, 1}, {1, 2}});
}

TEST(CodecRoundTrip, ChoicesComeBack) {
  expect_round_trip(std::optional<std::optional<int>>{});
  expect_round_trip(std::optional<std::optional<int>>{std::optional<int>{}});
  expect_round_trip(std::optional<std::optional<int>>{5});
  expect_round_trip(std::variant<int, int, std::string>{std::in_place_index<1>, 4});
  expect_round_trip(std::variant<int, int, std::string>{"text"});
  expect_round_trip(std::monostate{});
  expect_round_trip(std::chrono::milliseconds{-5});
  expect_round_trip(std::chrono::duration<double>{0.25});
  expect_round_trip(std::chrono::system_clock::now());
}

TEST(CodecRoundTrip, AResultBringsItsValueOrItsWholeFailure) {
  EXPECT_EQ(*round_trip(Result<std::string>{"fine"}), "fine");
  EXPECT_TRUE(round_trip(Result<void>{}).ok());
  const Status failure = user_error(-7, "no such account", StatusCode::kNotFound);
  EXPECT_EQ(round_trip(Result<int>{failure}).status().to_string(), failure.to_string());
  EXPECT_EQ(round_trip(Result<void>{failure}).status().native(), -7);
  EXPECT_EQ(round_trip(Result<void>{failure}).status().retry_after(), Duration::zero());
  Status busy = failure;
  busy.set_retry_after(std::chrono::milliseconds{1500});
  busy = busy.with_details("beside the text");
  const std::vector<Result<int>> all =
      round_trip(std::vector<Result<int>>{Result<int>{busy}, Result<int>{5}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].status().to_string(), busy.to_string());
  EXPECT_EQ(all[0].status().retry(), busy.retry());
  EXPECT_EQ(all[0].status().retry_after(), std::chrono::milliseconds{1500});
  EXPECT_EQ(all[0].status().details(), "beside the text");
  EXPECT_EQ(round_trip(Result<int>{failure.with_details("alone")}).status().details(), "alone");
  EXPECT_EQ(*all[1], 5);
}

TEST(CodecRoundTrip, AggregatesComeBackHoweverTheyAreNested) {
  Everything all{.name = "all",
                 .points = {{1, 2}, {3, 4}},
                 .table = {{{"row", {1, 2, 3}}, {"none", {}}}},
                 .choice = std::pair{true, Point{5, 6}},
                 .scalars = {Colour::kRed, Yes::kYes, 'c'},
                 .grid = {{1, 2, 3}, {4, 5, 6}},
                 .holeys = {{{1, 2, true}, {3, 4, false}}},
                 .index = {{9, {"n", "m"}}},
                 .nothing = {}};
  expect_round_trip(all);
  expect_round_trip(Everything{});
  expect_round_trip(std::vector<Everything>{all, {}, all});
  expect_round_trip(Wide{});
}

TEST(CodecRoundTrip, RecursiveTypesComeBack) {
  expect_round_trip(Tree{1, {{2, {}}, {3, {{4, {}}, {5, {}}}}}});
  Chain chain{1, std::make_unique<Chain>()};
  chain.next->value = 2;
  chain.next->next = std::make_unique<Chain>();
  const Chain out = round_trip(chain);
  EXPECT_EQ(out.next->value, 2);
  EXPECT_EQ(out.next->next->next, nullptr);
}

TEST(CodecRoundTrip, TypesOfTheUserComeThroughTheirHook) {
  expect_round_trip(Celsius{36.6});
  expect_round_trip(std::vector<Celsius>{Celsius{1}, Celsius{2}});
  Bits bits;
  bits.bits = {true, false};
  expect_round_trip(std::map<int, Bits>{{1, bits}, {2, {}}});
  EXPECT_EQ(encoded_size(std::vector<Bits>{bits}), 8U);
}

TEST(CodecRoundTrip, AHookCanRefuseItsBytes) {
  const Status status = testing::decode_status<std::vector<Celsius>>(encoded(std::vector<double>{0, -300}));
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(status.layer(), Layer::kCodec);
  EXPECT_FALSE(testing::decode_status<Bits>(testing::from_hex("05 00 01 01")).ok());
}

TEST(CodecRoundTrip, WhatOutHeldBeforeIsReplaced) {
  const auto message = encoded(std::vector<std::string>{"new"}, std::optional<int>{},
                               std::map<int, int>{{1, 1}}, std::unique_ptr<int>{});
  std::vector<std::string> strings{"old", "older"};
  std::optional<int> number = 3;
  std::map<int, int> map{{5, 5}};
  auto pointer = std::make_unique<int>(3);
  DecodeArena arena;
  ASSERT_TRUE(decode_from(message, arena, strings, number, map, pointer).ok());
  EXPECT_EQ(strings, std::vector<std::string>{"new"});
  EXPECT_EQ(number, std::nullopt);
  EXPECT_EQ(map, (std::map<int, int>{{1, 1}}));
  EXPECT_EQ(pointer, nullptr);
}

TEST(CodecRoundTrip, NoValuesAreAnEmptyMessage) {
  EXPECT_EQ(encoded_size(), 0U);
  DecodeArena arena;
  EXPECT_TRUE(decode_from(Bytes{}, arena).ok());
}

TEST(CodecViews, TextAndAlignedSpansPointIntoTheMessage) {
  const std::vector<double> numbers{1, 2, 3};
  const auto message = encoded(std::string{"abc"}, numbers, std::vector<std::string>{"x", "yz"});
  DecodeArena arena;
  std::string_view text;
  std::span<const double> view;
  std::vector<std::string_view> words;
  ASSERT_TRUE(decode_from(message, arena, text, view, words).ok());
  EXPECT_EQ(text, "abc");
  EXPECT_TRUE(std::equal(view.begin(), view.end(), numbers.begin(), numbers.end()));
  EXPECT_EQ(words, (std::vector<std::string_view>{"x", "yz"}));
  const auto inside = [&](const void* at) {
    const auto* byte = static_cast<const std::byte*>(at);
    return byte >= message.data() && byte < message.data() + message.size();
  };
  EXPECT_TRUE(inside(text.data()));
  EXPECT_TRUE(inside(view.data()));
  EXPECT_TRUE(inside(words[1].data()));
  EXPECT_TRUE(arena.empty());
}

TEST(CodecViews, SpansInAMessageThatLiesUnalignedAreCopiedToTheArena) {
  const std::vector<double> numbers{1, 2, 3};
  const std::vector<std::uint16_t> shorts{7, 8};
  const auto message = encoded(numbers, shorts, std::vector<Point>{{4, 5}});
  std::vector<std::byte> shifted(message.size() + 1);
  std::copy(message.begin(), message.end(), shifted.begin() + 1);
  DecodeArena arena;
  std::span<const double> view;
  std::span<const std::uint16_t> short_view;
  std::span<const Point> points;
  std::vector<double> owned;
  ASSERT_TRUE(decode_from(Bytes{shifted}.subspan(1), arena, view, short_view, points).ok());
  EXPECT_FALSE(arena.empty());
  EXPECT_EQ(std::vector<double>(view.begin(), view.end()), numbers);
  EXPECT_EQ(std::vector<std::uint16_t>(short_view.begin(), short_view.end()), shorts);
  EXPECT_EQ(points[0], (Point{4, 5}));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(points.data()) % alignof(Point), 0U);
  const DecodeArena moved = std::move(arena);
  EXPECT_EQ(view[2], 3);
  EXPECT_FALSE(moved.empty());
}

TEST(CodecViews, AnUnalignedMessageFillsOwningContainersAsWell) {
  const auto message = encoded(std::vector<double>{1, 2}, std::vector<Point>{{4, 5}});
  std::vector<std::byte> shifted(message.size() + 1);
  std::copy(message.begin(), message.end(), shifted.begin() + 1);
  DecodeArena arena;
  std::vector<double> numbers;
  std::vector<Point> points;
  ASSERT_TRUE(decode_from(Bytes{shifted}.subspan(1), arena, numbers, points).ok());
  EXPECT_EQ(numbers, (std::vector<double>{1, 2}));
  EXPECT_EQ(points, (std::vector<Point>{{4, 5}}));
  EXPECT_TRUE(arena.empty());
}

}  // namespace
}  // namespace weft
