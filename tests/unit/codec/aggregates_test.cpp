// SPDX-License-Identifier: Apache-2.0
// Aggregates are counted right, or do not compile: fields whose type has an explicit default constructor, as
// ids often have, used to make an aggregate count as empty.
#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "weft/detail/codec/codec.hpp"

namespace weft::testing::aggregates {

/// An id that no number converts to.
struct UserId {
  explicit UserId(int number = 0) : value(number) {}
  friend auto operator<=>(const UserId&, const UserId&) = default;
  int value;
};

/// Text that is made from anything.
class Anything {
 public:
  Anything() = default;
  template <typename T>
  Anything(const T& value) {
    if constexpr (std::is_same_v<T, std::string>) text_ = value;
  }
  const std::string& text() const { return text_; }
  bool operator==(const Anything& other) const { return text_ == other.text_; }

 private:
  std::string text_;
};

}  // namespace weft::testing::aggregates

template <>
struct weft::CodecTraits<weft::testing::aggregates::Anything> {
  using Wire = std::string;
  static const std::string& to_wire(const weft::testing::aggregates::Anything& value) { return value.text(); }
  static bool from_wire(const std::string& text, weft::testing::aggregates::Anything& value) {
    value = text;
    return true;
  }
};

template <>
struct weft::CodecTraits<weft::testing::aggregates::UserId> {
  using Wire = int;
  static int to_wire(const weft::testing::aggregates::UserId& id) { return id.value; }
  static bool from_wire(int number, weft::testing::aggregates::UserId& id) {
    id.value = number;
    return true;
  }
};

namespace weft::testing::aggregates {

struct Payment {
  int amount;
  UserId to;
  friend auto operator<=>(const Payment&, const Payment&) = default;
};
struct IdFirst {
  UserId from;
  int amounts[3];
  UserId to;
  bool operator==(const IdFirst&) const = default;
};
struct OnlyIds {
  UserId ids[2];
  std::array<UserId, 2> more;
  UserId last;
  bool operator==(const OnlyIds&) const = default;
};
struct WithInitializer {
  int before = 1;
  UserId id = UserId(3);
  int behind = 2;
  bool operator==(const WithInitializer&) const = default;
};
struct Whole {
  Payment payment;
  std::optional<UserId> maybe;
  std::vector<UserId> many;
  std::pair<int, UserId> pair;
  std::map<UserId, Payment> payments;
  std::variant<int, UserId> choice;
  std::tuple<UserId, std::string> tuple;
  std::list<Payment> list;
  UserId last;
  bool operator==(const Whole&) const = default;
};
struct ThirtyTwo {
  UserId a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd, ee, ff;
  bool operator==(const ThirtyTwo&) const = default;
};
struct Nothing {
  bool operator==(const Nothing&) const = default;
};

using detail::codec_detail::field_count;
static_assert(field_count<Payment> == 2);
static_assert(field_count<IdFirst> == 3);
static_assert(field_count<OnlyIds> == 3);
static_assert(field_count<WithInitializer> == 3);
static_assert(field_count<Whole> == 9);
static_assert(field_count<ThirtyTwo> == 32);
static_assert(field_count<Nothing> == 0);

/// Encodes `value` and decodes it; true if it comes back as it was and no byte is left.
template <typename T>
bool comes_back(const T& value) {
  std::vector<std::byte> bytes(detail::encoded_size(value));
  detail::encode_to(bytes.data(), bytes.size(), value);
  T decoded;
  detail::DecodeArena arena;
  return detail::decode_from(Bytes{bytes}, arena, decoded).ok() && decoded == value;
}

TEST(Aggregates, WithIdsComeBackWhole) {
  EXPECT_TRUE(comes_back(Payment{5, UserId(7)}));
  EXPECT_TRUE(comes_back(IdFirst{UserId(1), {2, 3, 4}, UserId(5)}));
  EXPECT_TRUE(comes_back(OnlyIds{{UserId(1), UserId(2)}, {UserId(3), UserId(4)}, UserId(5)}));
  EXPECT_TRUE(comes_back(WithInitializer{4, UserId(5), 6}));
  EXPECT_TRUE(comes_back(Nothing{}));
}

TEST(Aggregates, WithIdsInAllKindsOfValuesComeBackWhole) {
  const Whole whole{.payment = {1, UserId(2)},
                    .maybe = UserId(3),
                    .many = {UserId(4), UserId(5)},
                    .pair = {6, UserId(7)},
                    .payments = {{UserId(8), {9, UserId(10)}}},
                    .choice = UserId(11),
                    .tuple = {UserId(12), "text"},
                    .list = {{13, UserId(14)}},
                    .last = UserId(15)};
  EXPECT_TRUE(comes_back(whole));
}

struct FromAnything {
  Anything first;
  int number;
  Anything last;
  bool operator==(const FromAnything&) const = default;
};

TEST(Aggregates, WithFieldsMadeFromAnythingComeBackWhole) {
  EXPECT_EQ(detail::schema_text<FromAnything>(), "({string, i32, string})");
  EXPECT_TRUE(comes_back(FromAnything{std::string("a"), 2, std::string("c")}));
}

// An id in front makes the count take another way.
int global = 0;
struct ReferenceBehindId {
  UserId id;
  int& number = global;
};
struct UnionBehindId {
  UserId id;
  union {
    int number;
    float real;
  };
};
struct BitFieldBehindId {
  UserId id;
  unsigned bits : 3;
};
struct LongArrayBehindId {
  UserId id;
  char text[300];
};

TEST(Aggregates, AreRefusedInWordsAlsoBehindAnId) {
  using detail::codec_detail::encode_problem;
  using detail::codec_detail::Problem;
  static_assert(encode_problem<ReferenceBehindId> == Problem::kReference);
  static_assert(encode_problem<UnionBehindId> == Problem::kUnion);
  static_assert(encode_problem<BitFieldBehindId> == Problem::kBitField);
  static_assert(encode_problem<LongArrayBehindId> == Problem::kUncounted);
}

// Hooks without one of their parts. Each type has a number that nobody sees.
template <int>
class Hidden {
 public:
  Hidden() = default;

 private:
  int number_ = 0;
};
using WithoutWire = Hidden<0>;
using WithoutFromWire = Hidden<1>;
using WithoutToWire = Hidden<2>;
using WithMember = Hidden<3>;
using WithPrivate = Hidden<4>;
using WithoutSize = Hidden<5>;

struct TaggedString : std::string {
  bool tag = false;
};
struct TaggedView : std::string_view {
  using basic_string_view::basic_string_view;
  bool tag = false;
};
struct TaggedMap : std::map<int, int> {
  bool tag = false;
};
struct TaggedOptional : std::optional<int> {
  using optional::optional;
  bool tag = false;
};
struct TaggedVariant : std::variant<int> {
  using variant::variant;
  bool tag = false;
};
struct TaggedPair : std::pair<int, int> {
  bool tag = false;
};

TEST(Aggregates, DerivedFromValuesOfTheStandardLibraryAreRefused) {
  static_assert(!detail::Encodable<TaggedString> && !detail::Encodable<TaggedView>);
  static_assert(!detail::Encodable<TaggedMap> && !detail::Encodable<TaggedOptional>);
  static_assert(!detail::Encodable<TaggedVariant> && !detail::Encodable<TaggedPair>);
  static_assert(!detail::Decodable<std::vector<TaggedString>>);
}

TEST(Aggregates, HaveUpToThirtyTwoFields) {
  ThirtyTwo all;
  all.a = UserId(1);
  all.ff = UserId(32);
  EXPECT_TRUE(comes_back(all));
}

struct Opaque {
  int value = 0;
};
/// Hooks that would lose a part of the value.
struct FillsACopy {
  using Wire = int;
  static int to_wire(const Opaque& from) { return from.value; }
  static bool from_wire(int, Opaque) { return true; }
};
struct SendsTooMuch {
  using Wire = std::int32_t;
  static std::int64_t to_wire(const Opaque& from) { return from.value; }
  static bool from_wire(std::int32_t, Opaque&) { return true; }
};
struct DecodesACopy {
  static bool decode(detail::Decoder&, Opaque) { return true; }
};
using detail::codec_detail::DecodesObject;
using detail::codec_detail::FillsObject;
using detail::codec_detail::SendsWholeNumber;
static_assert(FillsObject<CodecTraits<UserId>, UserId> && SendsWholeNumber<CodecTraits<UserId>, UserId>);
static_assert(!FillsObject<FillsACopy, Opaque> && !SendsWholeNumber<SendsTooMuch, Opaque>);
static_assert(!DecodesObject<DecodesACopy, Opaque>);
static_assert(!std::is_copy_constructible_v<detail::Sizer> && !std::is_copy_constructible_v<detail::Encoder>);
static_assert(!std::is_copy_constructible_v<detail::Decoder>);

}  // namespace weft::testing::aggregates

using weft::testing::aggregates::WithMember;
using weft::testing::aggregates::WithoutFromWire;
using weft::testing::aggregates::WithoutSize;
using weft::testing::aggregates::WithoutToWire;
using weft::testing::aggregates::WithoutWire;
using weft::testing::aggregates::WithPrivate;

template <>
struct weft::CodecTraits<WithoutWire> {
  static int to_wire(const WithoutWire&) { return 0; }
  static bool from_wire(int, WithoutWire&) { return true; }
};
template <>
struct weft::CodecTraits<WithoutFromWire> {
  using Wire = int;
  static int to_wire(const WithoutFromWire&) { return 0; }
};
template <>
struct weft::CodecTraits<WithoutToWire> {
  using Wire = int;
  static bool from_wire(int, WithoutToWire&) { return true; }
};
template <>
struct weft::CodecTraits<WithMember> {
  using Wire = int;
  int to_wire(const WithMember&) const { return 0; }
  bool from_wire(int, WithMember&) const { return true; }
};
template <>
struct weft::CodecTraits<WithPrivate> {
 private:
  using Wire = int;
  static int to_wire(const WithPrivate&) { return 0; }
  static bool from_wire(int, WithPrivate&) { return true; }
};
template <>
struct weft::CodecTraits<WithoutSize> {
  static void encoded_size(auto& size, const WithoutSize&) { size.add(1); }
  static void encode(auto& to, const WithoutSize&) { to.write(1); }
  static bool decode(auto&, WithoutSize&) { return true; }
  static constexpr void append_schema(auto& to) { to.put("hidden"); }
};

namespace weft::testing::aggregates {

TEST(Hooks, WithoutOneOfTheirPartsAreRefusedInWords) {
  using detail::codec_detail::decode_problem;
  using detail::codec_detail::encode_problem;
  using detail::codec_detail::Problem;
  static_assert(encode_problem<WithoutWire> == Problem::kTraitsLackPart);
  static_assert(encode_problem<WithoutFromWire> == Problem::kNone);
  static_assert(decode_problem<WithoutFromWire> == Problem::kTraitsLackPart);
  static_assert(encode_problem<WithoutToWire> == Problem::kTraitsLackPart);
  static_assert(decode_problem<WithoutToWire> == Problem::kNone);
  static_assert(encode_problem<WithMember> == Problem::kTraitsLackPart);
  static_assert(encode_problem<WithPrivate> == Problem::kTraitsLackPart);
  static_assert(encode_problem<WithoutSize> == Problem::kTraitsLackPart);
  static_assert(encode_problem<std::vector<WithMember>> == Problem::kTraitsLackPart);
}

}  // namespace weft::testing::aggregates
