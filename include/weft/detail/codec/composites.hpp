// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/codec/decoder.hpp"
#include "weft/detail/codec/encoder.hpp"
#include "weft/detail/codec/schema.hpp"

/// Aggregates, tuples and pairs: their members one after the other, with nothing between. Also types with a
/// CodecTraits, and the additions, which take no place among the members.
namespace weft::detail::codec_detail {

template <typename T>
struct MembersCodec {
  static void encoded_size(Sizer& size, const T& value) {
    visit_members(value, [&size](const auto&... members) { size.add(members...); });
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    if constexpr (is_plain_to_encode<T>)
      to.write_bytes(&value, sizeof value);
    else
      visit_members(value, [&to](const auto&... members) { to.write(members...); });
  }
  static bool decode(Decoder& from, T& out) {
    if constexpr (is_plain_to_decode<T>) {
      const std::byte* bytes;
      if (!from.take(sizeof out, bytes)) return false;
      std::memcpy(static_cast<void*>(&out), bytes, sizeof out);
      return true;
    } else {
      return visit_members(out, [&from](auto&... members) { return from.read(members...); });
    }
  }
  static constexpr void append_schema(auto& to) {
    if (!to.enter(type_tag<T>, true)) return;
    to.put("{");
    to.template members<T>();
    to.put("}");
    to.leave();
  }
};

template <typename T>
struct Codec<T, Kind::kAggregate> : MembersCodec<T> {};
template <typename T>
struct Codec<T, Kind::kTuple> : MembersCodec<T> {};

/// Writes nothing for an addition among the members; a sent addition follows after all values.
template <typename T>
struct Codec<T, Kind::kCompatible> {
  static void encoded_size(Sizer&, const T&) {}
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>&, const T&) {}
  static bool decode(Decoder&, T&) { return true; }
  static constexpr void append_schema(auto& to) {
    to.put("+v");
    to.put_number(T::kSince);
    to.put(" ");
    to.template type<typename T::value_type>();
  }
};

/// False for a to_wire() that returns a number which may not fit into Wire.
template <typename Traits, typename T, typename Wire = typename Traits::Wire>
concept SendsWholeNumber =
    !std::is_arithmetic_v<Wire> || requires(const T& value) { Wire{Traits::to_wire(value)}; };
/// False for a from_wire() that takes the object by value or as const, so that the result would be lost.
template <typename Traits, typename T>
concept FillsObject =
    !requires(typename Traits::Wire wire, const T& out) { Traits::from_wire(std::move(wire), out); };
/// The same for decode().
template <typename Traits, typename T>
concept DecodesObject = !requires(Decoder& from, const T& out) { Traits::decode(from, out); };

template <typename T>
struct Codec<T, Kind::kUserWire> {
  using Traits = CodecTraits<T>;
  using Wire = typename Traits::Wire;

  static void encoded_size(Sizer& size, const T& value) {
    size.without_runs([&] { size.add(static_cast<const Wire&>(Traits::to_wire(value))); });
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    static_assert(
        SendsWholeNumber<Traits, T>,
        "weft cannot encode this type: its CodecTraits::to_wire() returns a number that CodecTraits::Wire "
        "may not hold; make Wire as wide");
    to.write(static_cast<const Wire&>(Traits::to_wire(value)));
  }
  static bool decode(Decoder& from, T& out) {
    static_assert(
        FillsObject<Traits, T>,
        "weft cannot decode this type: its CodecTraits::from_wire() takes the object by value or as const; "
        "take it as T&");
    Wire wire = Wire();
    if (!from.read(wire)) return false;
    if (!Traits::from_wire(std::move(wire), out)) return from.fail(DecodeFault::kRefused);
    return true;
  }
  static constexpr void append_schema(auto& to) {
    if (!to.enter(type_tag<T>, false)) return;
    to.template type<Wire>();
    to.leave();
  }
};

template <typename T>
struct Codec<T, Kind::kUser> {
  using Traits = CodecTraits<T>;

  static void encoded_size(Sizer& size, const T& value) {
    if constexpr (requires { Traits::kShowsRuns; }) {
      Traits::encoded_size(size, value);
    } else {
      size.without_runs([&] { Traits::encoded_size(size, value); });
    }
  }
  static void encode(Encoder& to, const T& value) { Traits::encode(to, value); }
  static bool decode(Decoder& from, T& out) {
    static_assert(
        DecodesObject<Traits, T>,
        "weft cannot decode this type: its CodecTraits::decode() takes the object by value or as const; take "
        "it as T&");
    if (Traits::decode(from, out)) return true;
    return from.fault() != DecodeFault::kNone ? false : from.fail(DecodeFault::kRefused);
  }
  static constexpr void append_schema(auto& to) {
    if (!to.enter(type_tag<T>, false)) return;
    Traits::append_schema(to);
    to.leave();
  }
};

}  // namespace weft::detail::codec_detail
