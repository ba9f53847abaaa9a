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

}  // namespace weft::testing::aggregates

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
  detail::encode_to(bytes.data(), value);
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

TEST(Aggregates, HaveUpToThirtyTwoFields) {
  ThirtyTwo all;
  all.a = UserId(1);
  all.ff = UserId(32);
  EXPECT_TRUE(comes_back(all));
}

}  // namespace weft::testing::aggregates
