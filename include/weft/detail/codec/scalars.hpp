// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "weft/detail/codec/decoder.hpp"
#include "weft/detail/codec/encoder.hpp"
#include "weft/detail/codec/schema.hpp"

/// Values of one number each: fixed width, little-endian, where the last value ended.
namespace weft::detail::codec_detail {

/// The name of a number's type in schemas: by width and sign, so that long and long long are one where they
/// are.
template <typename T>
constexpr void append_number_schema(SchemaWriter& to) {
  if constexpr (std::is_same_v<T, char>) {
    to.put("char");  // its sign differs between machines
  } else if constexpr (std::is_same_v<T, wchar_t>) {
    to.put("wchar");
    to.put_number(sizeof(T) * 8);
  } else {
    to.put(std::is_floating_point_v<T> ? "f" : std::is_signed_v<T> ? "i" : "u");
    to.put_number(sizeof(T) * 8);
  }
}

template <typename T>
struct Codec<T, Kind::kNumber> {
  static void encoded_size(Sizer& size, const T&) { size.skip(sizeof(T)); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    to.write_number(value);
  }
  static bool decode(Decoder& from, T& out) { return from.read_number(out); }
  static constexpr void append_schema(auto& to) { append_number_schema<T>(to); }
};

template <>
struct Codec<bool, Kind::kBool> {
  static void encoded_size(Sizer& size, const bool&) { size.skip(1); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const bool& value) {
    to.write_number(static_cast<std::uint8_t>(value));
  }
  static bool decode(Decoder& from, bool& out) { return from.read_flag(out); }
  static constexpr void append_schema(auto& to) { to.put("bool"); }
};

/// Writes IEEE binary128 on every machine: the 64 significant bits of the x87 format fit into its 113.
template <typename T>
struct Codec<T, Kind::kLongDouble> {
  static_assert(sizeof(T) == 16, "a long double is the x87 format in 16 bytes, or binary128");
  static constexpr bool kX87 = __LDBL_MANT_DIG__ == 64;

  static void encoded_size(Sizer& size, const T&) { size.skip(16); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    std::uint64_t words[2] = {0, 0};
    std::memcpy(words, &value, kX87 ? 10 : 16);
    if constexpr (kX87) {
      const std::uint64_t fraction = words[0] << 1;  // without the leading bit, which binary128 implies
      words[0] = fraction << 48;
      words[1] = (words[1] << 48) | (fraction >> 16);
    }
    to.write_bytes(words, sizeof words);
  }
  static bool decode(Decoder& from, T& out) {
    std::uint64_t words[2];
    if (!from.read_number(words[0]) || !from.read_number(words[1])) return false;
    out = 0;
    if constexpr (kX87) {
      const std::uint64_t exponent = words[1] >> 48;
      const std::uint64_t fraction = (words[1] << 16) | (words[0] >> 48);
      const std::uint64_t leading = (exponent & 0x7FFF) != 0 ? std::uint64_t{1} << 63 : 0;
      words[0] = leading | (fraction >> 1);
      words[1] = exponent;
    }
    std::memcpy(&out, words, kX87 ? 10 : 16);
    return true;
  }
  static constexpr void append_schema(auto& to) { to.put("f128"); }
};

template <typename T>
struct Codec<T, Kind::kEnum> {
  using Number = std::underlying_type_t<T>;
  static void encoded_size(Sizer& size, const T&) { size.skip(sizeof(T)); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    to.write(static_cast<Number>(value));
  }
  static bool decode(Decoder& from, T& out) {
    Number number;
    if (!from.read(number)) return false;
    out = static_cast<T>(number);
    return true;
  }
  static constexpr void append_schema(auto& to) { to.template type<Number>(); }
};

template <typename T>
struct Codec<T, Kind::kDuration> {
  using Rep = typename T::rep;
  static void encoded_size(Sizer& size, const T& value) { size.add(value.count()); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    to.write(value.count());
  }
  static bool decode(Decoder& from, T& out) {
    Rep ticks{};
    if (!from.read(ticks)) return false;
    out = T{ticks};
    return true;
  }
  static constexpr void append_schema(auto& to) {
    to.put("duration<");
    to.template type<Rep>();
    to.put(" x ");
    to.put_number(static_cast<std::uint64_t>(T::period::num));
    to.put("/");
    to.put_number(static_cast<std::uint64_t>(T::period::den));
    to.put(">");
  }
};

template <typename T>
struct Codec<T, Kind::kTimePoint> {
  using Since = typename T::duration;
  static void encoded_size(Sizer& size, const T& value) { size.add(value.time_since_epoch()); }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    to.write(value.time_since_epoch());
  }
  static bool decode(Decoder& from, T& out) {
    Since since{};
    if (!from.read(since)) return false;
    out = T{since};
    return true;
  }
  /// Clocks with other epochs have other schemas, because only the ticks since the epoch are sent.
  static constexpr void append_schema(auto& to) {
    using Clock = typename T::clock;
    if constexpr (std::is_same_v<Clock, std::chrono::system_clock>)
      to.put("time<");
    else if constexpr (std::is_same_v<Clock, std::chrono::file_clock>)
      to.put("file_time<");
    else if constexpr (requires { requires Clock::is_steady; })
      to.put("steady_time<");
    else
      to.put("other_time<");
    to.template type<Since>();
    to.put(">");
  }
};

template <>
struct Codec<std::monostate, Kind::kEmpty> {
  static void encoded_size(Sizer&, const std::monostate&) {}
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>&, const std::monostate&) {}
  static bool decode(Decoder&, std::monostate&) { return true; }
  static constexpr void append_schema(auto& to) { to.put("{}"); }
};

}  // namespace weft::detail::codec_detail
