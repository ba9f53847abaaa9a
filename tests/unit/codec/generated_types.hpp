// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <variant>
#include <vector>

#include "unit/codec/codec_testing.hpp"

/// Parts of the source that generate_types.py writes: types of users, random values of all types, and the
/// test of one type.
namespace weft::testing::generated {

enum class Small : std::uint8_t {};
enum class Wide : std::int64_t {};
struct Nothing {
  friend auto operator<=>(const Nothing&, const Nothing&) = default;
};

/// A strong id; `{}` does not make one.
template <typename T>
class Id {
 public:
  explicit Id(T value = T()) : value_(std::move(value)) {}
  const T& value() const { return value_; }
  friend auto operator<=>(const Id&, const Id&) = default;

 private:
  T value_;
};

/// Neither `{}` nor one number makes it, but two do.
class Range {
 public:
  explicit Range() = default;
  Range(std::int32_t from, std::int32_t to) : from_(from), to_(to) {}
  std::int32_t from() const { return from_; }
  std::int32_t to() const { return to_; }
  friend auto operator<=>(const Range&, const Range&) = default;

 private:
  std::int32_t from_ = 0;
  std::int32_t to_ = 0;
};

/// Has no default constructor, so that a field of it needs an initializer.
class Mark {
 public:
  explicit Mark(std::uint16_t number) : number_(number) {}
  std::uint16_t number() const { return number_; }
  friend auto operator<=>(const Mark&, const Mark&) = default;

 private:
  std::uint16_t number_;
};

/// Deterministic numbers, the same with every compiler.
class Random {
 public:
  /// `any`: floating-point numbers of any bits, and texts of any bytes.
  explicit Random(bool any = false) : any_(any) {}
  bool any() const { return any_; }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(engine_() % bound); }
  std::uint64_t number() { return engine_(); }

 private:
  std::mt19937_64 engine_{20'26};
  bool any_;
};

/// Gives `out` a random value, member by member.
struct Fill {
  Random& random;

  template <typename... Ts>
  void all(Ts&... out) {
    (one(out), ...);
  }

 private:
  template <typename T>
  void one(T& out) {
    if constexpr (std::is_same_v<T, bool>)
      out = random.below(2) != 0;
    else if constexpr (std::is_floating_point_v<T>)
      out = random.any() ? any_number<T>() : static_cast<T>(random.below(1'000'000)) / 4;
    else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      out = static_cast<T>(random.number());
    else if constexpr (requires { out.fill_members(*this); })
      out.fill_members(*this);
    else
      of(out);
  }
  template <typename T>
  T made() {
    T value = T();
    one(value);
    return value;
  }

  /// A number of any bits; a long double has bits that no number has, so its parts are chosen.
  template <typename T>
  T any_number() {
    if constexpr (sizeof(T) > 8) {
      return std::ldexp(static_cast<T>(random.number()), static_cast<int>(random.below(40'000)) - 20'000);
    } else {
      const std::uint64_t bits = random.number() | (random.below(4) == 0 ? 0x7FF8'0000'7FC0'0000U : 0);
      T number;
      std::memcpy(&number, &bits, sizeof number);
      return number;
    }
  }

  void of(std::monostate&) {}
  void of(Nothing&) {}
  void of(std::string& out) {
    out.assign(random.below(20), static_cast<char>('a' + random.below(26)));
    if (!random.any()) return;
    for (char& c : out) c = static_cast<char>(random.below(random.below(16) == 0 ? 256 : 128));
  }
  template <typename T>
  void of(Id<T>& out) {
    out = Id<T>{made<T>()};
  }
  void of(Range& out) { out = Range{made<std::int32_t>(), made<std::int32_t>()}; }
  void of(Mark& out) { out = Mark{made<std::uint16_t>()}; }
  template <typename Rep, typename Period>
  void of(std::chrono::duration<Rep, Period>& out) {
    out = std::chrono::duration<Rep, Period>{made<Rep>()};
  }
  template <typename Clock, typename D>
  void of(std::chrono::time_point<Clock, D>& out) {
    out = std::chrono::time_point<Clock, D>{made<D>()};
  }
  template <typename T, std::size_t kCount>
  void of(T (&out)[kCount]) {
    for (T& element : out) one(element);
  }
  template <typename T, std::size_t kCount>
  void of(std::array<T, kCount>& out) {
    for (T& element : out) one(element);
  }
  template <typename A, typename B>
  void of(std::pair<A, B>& out) {
    all(out.first, out.second);
  }
  template <typename... Ts>
  void of(std::tuple<Ts...>& out) {
    std::apply([this](auto&... members) { this->all(members...); }, out);
  }
  template <typename T>
  void of(std::optional<T>& out) {
    if (random.below(4) != 0) one(out.emplace());
  }
  template <typename T, unsigned kVersion>
  void of(Compatible<T, kVersion>& out) {
    if (random.below(4) != 0) one(out.emplace());
  }
  template <typename T>
  void of(std::unique_ptr<T>& out) {
    if (random.below(4) == 0) return;
    out = std::make_unique<T>();
    one(*out);
  }
  template <typename... Ts>
  void of(std::variant<Ts...>& out) {
    const std::uint32_t chosen = random.below(sizeof...(Ts));
    [&]<std::size_t... kPlaces>(std::index_sequence<kPlaces...>) {
      ((chosen == kPlaces ? one(out.template emplace<kPlaces>()) : void()), ...);
    }(std::index_sequence_for<Ts...>{});
  }
  template <typename T>
  void of_sequence(T& out) {
    for (std::uint32_t left = random.below(4); left > 0; --left)
      out.push_back(made<typename T::value_type>());
  }
  template <typename T>
  void of(std::vector<T>& out) {
    of_sequence(out);
  }
  template <typename T>
  void of(std::deque<T>& out) {
    of_sequence(out);
  }
  template <typename T>
  void of(std::list<T>& out) {
    of_sequence(out);
  }
  template <typename T>
    requires requires { typename T::key_type; }
  void of(T& out) {
    for (std::uint32_t left = random.below(4); left > 0; --left) {
      if constexpr (requires { typename T::mapped_type; })
        out.emplace(made<typename T::key_type>(), made<typename T::mapped_type>());
      else
        out.insert(made<typename T::key_type>());
    }
  }
};

/// Compares members, looking at what pointers and arrays hold.
template <typename T>
bool same(const T& a, const T& b) {
  return a == b;
}
template <typename T>
bool same(const std::unique_ptr<T>& a, const std::unique_ptr<T>& b) {
  return a == nullptr || b == nullptr ? a == b : *a == *b;
}
template <typename T, std::size_t kCount>
bool same(const T (&a)[kCount], const T (&b)[kCount]) {
  return std::equal(std::begin(a), std::end(a), std::begin(b));
}

/// Sends random values of `T` there and back, and holds its schema against `schema`, which the generator
/// wrote from the shape alone.
template <typename T>
void expect_travels(const char* schema) {
  EXPECT_EQ(schema_text<T>(), schema);
  Random random;
  for (int round = 0; round < 20; ++round) {
    T value = T();
    Fill{random}.all(value);
    const auto message = encoded(value);
    DecodeArena arena;
    T back = T();
    const auto result = decode_from(message, arena, back);
    ASSERT_TRUE(result.ok()) << schema << ": " << result.status().to_string();
    ASSERT_TRUE(value == back) << schema;
  }
}

}  // namespace weft::testing::generated

template <typename T>
struct weft::CodecTraits<weft::testing::generated::Id<T>> {
  using Id = weft::testing::generated::Id<T>;
  using Wire = T;
  static Wire to_wire(const Id& id) { return id.value(); }
  static bool from_wire(Wire wire, Id& out) {
    out = Id{std::move(wire)};
    return true;
  }
};
template <>
struct weft::CodecTraits<weft::testing::generated::Range> {
  using Range = weft::testing::generated::Range;
  using Wire = std::array<std::int32_t, 2>;
  static Wire to_wire(const Range& range) { return {range.from(), range.to()}; }
  static bool from_wire(Wire wire, Range& out) {
    out = Range{wire[0], wire[1]};
    return true;
  }
};
template <>
struct weft::CodecTraits<weft::testing::generated::Mark> {
  using Mark = weft::testing::generated::Mark;
  using Wire = std::uint16_t;
  static Wire to_wire(const Mark& mark) { return mark.number(); }
  static bool from_wire(Wire wire, Mark& out) {
    out = Mark{wire};
    return true;
  }
};
