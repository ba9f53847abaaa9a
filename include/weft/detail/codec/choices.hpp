// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/codec/decoder.hpp"
#include "weft/detail/codec/encoder.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/codec/schema.hpp"

/// Values that begin with a byte which says what follows: optional, unique_ptr, variant, Result.
namespace weft::detail::codec_detail {

template <typename T>
struct Codec<T, Kind::kOptional> {
  static void encoded_size(Sizer& size, const T& value) {
    size.skip(1);
    if (value) size.add(*value);
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& value) {
    to.write(value.has_value());
    if (value) to.write(*value);
  }
  static bool decode(Decoder& from, T& out) {
    bool present;
    if (!from.read(present)) return false;
    if (!present) {
      out.reset();
      return true;
    }
    // An existing value keeps its memory; hooks of the user get only fresh objects.
    if constexpr (!finds_hook<typename T::value_type, 0>()) {
      if (out) return from.read(*out);
    }
    return from.read(out.emplace());
  }
  static constexpr void append_schema(auto& to) {
    to.template type<typename T::value_type>();
    to.put("?");
  }
};

/// The same bytes as an optional; a level of nesting, because this is how recursive types are made.
template <typename T>
struct Codec<T, Kind::kUnique> {
  using Value = std::remove_const_t<typename T::element_type>;

  static void encoded_size(Sizer& size, const T& pointer) {
    size.skip(1);
    if (pointer == nullptr || !size.enter()) return;
    size.add(static_cast<const Value&>(*pointer));
    size.leave();
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const T& pointer) {
    to.write(pointer != nullptr);
    if (pointer != nullptr) to.write(static_cast<const Value&>(*pointer));
  }
  static bool decode(Decoder& from, T& out) {
    bool present;
    out.reset();
    if (!from.read(present)) return false;
    if (!present) return true;
    if (!from.charge(sizeof(Value)) || !from.enter()) return false;
    auto value = std::make_unique<Value>();
    if (!from.read(*value)) return false;
    out = std::move(value);
    return from.leave();
  }
  static constexpr void append_schema(auto& to) {
    to.template type<Value>();
    to.put("?");
  }
};

template <typename... Ts>
struct Codec<std::variant<Ts...>, Kind::kVariant> {
  using Variant = std::variant<Ts...>;

  static void encoded_size(Sizer& size, const Variant& value) {
    size.skip(1);
    if (value.valueless_by_exception()) return size.refuse();
    each(value.index(), [&](auto place) {
      size.add(std::get<place()>(value));
      return true;
    });
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const Variant& value) {
    to.write_number(static_cast<std::uint8_t>(value.index()));
    each(value.index(), [&](auto place) {
      to.write(std::get<place()>(value));
      return true;
    });
  }
  static bool decode(Decoder& from, Variant& out) {
    std::uint8_t index;
    if (!from.read_number(index)) return false;
    if (index >= sizeof...(Ts)) return from.fail(DecodeFault::kVariant);
    return each(index, [&](auto place) { return from.read(out.template emplace<place()>()); });
  }
  static constexpr void append_schema(auto& to) {
    const char* before = "<";
    ((to.put(before), to.template type<Ts>(), before = " | "), ...);
    to.put(">");
  }

 private:
  /// Calls `visit` with the alternative's number as a constant.
  template <typename F>
  static bool each(std::size_t index, F&& visit) {
    return [&]<std::size_t... kPlaces>(std::index_sequence<kPlaces...>) {
      bool done = false;
      static_cast<void>((
          (index == kPlaces && (done = visit(std::integral_constant<std::size_t, kPlaces>{}), true)) || ...));
      return done;
    }(std::index_sequence_for<Ts...>{});
  }
};

/// Bit of the retry byte of a failure whose time to wait follows its text.
inline constexpr std::uint8_t kFailureHasWait = 0x80;
/// Bit of the retry byte of a failure whose details follow, behind the time to wait.
inline constexpr std::uint8_t kFailureHasDetails = 0x40;

/// A byte 1 and the value, or a byte 0, code, layer and retry as a byte each, i32 native code, and the text;
/// where the failure says how long to wait, kFailureHasWait is set and u32 milliseconds follow; where it has
/// details, kFailureHasDetails is set and they follow as a string.
template <typename T>
struct Codec<Result<T>, Kind::kResult> {
  static void encoded_size(Sizer& size, const Result<T>& result) {
    size.skip(1);
    if (!result.ok()) {
      const Status& failure = failure_of(result);
      size.skip(wait_of(failure) != 0 ? 11 : 7);
      size.without_runs([&] { size.add(failure.message()); });
      if (!failure.details().empty()) size.without_runs([&] { size.add(failure.details()); });
    } else if constexpr (!std::is_void_v<T>) {
      size.add(*result);
    }
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const Result<T>& result) {
    to.write(result.ok());
    if (!result.ok()) {
      const Status& failure = failure_of(result);
      const std::uint32_t wait = wait_of(failure);
      unsigned retry = static_cast<std::uint8_t>(failure.retry());
      if (wait != 0) retry |= kFailureHasWait;
      if (!failure.details().empty()) retry |= kFailureHasDetails;
      to.write(failure.code(), failure.layer(), static_cast<std::uint8_t>(retry), failure.native(),
               failure.message());
      if (wait != 0) to.write(wait);
      if (!failure.details().empty()) to.write(failure.details());
    } else if constexpr (!std::is_void_v<T>) {
      to.write(*result);
    }
  }
  static bool decode(Decoder& from, Result<T>& out) {
    bool ok;
    if (!from.read(ok)) return false;
    if (!ok) return decode_failure(from, out);
    if constexpr (std::is_void_v<T>) {
      out = Result<T>{};
    } else {
      T value = T();
      if (!from.read(value)) return false;
      out = Result<T>{std::move(value)};
    }
    return true;
  }
  static constexpr void append_schema(auto& to) {
    to.put("result<");
    if constexpr (!std::is_void_v<T>) to.template type<T>();
    to.put(">");
  }

 private:
  static Status failure_of(const Result<T>& result) { return result.status(); }
  /// Milliseconds; at most kRetryAfterMax, as each Status has it.
  static std::uint32_t wait_of(const Status& failure) {
    return static_cast<std::uint32_t>(failure.retry_after() / std::chrono::milliseconds{1});
  }
  static bool decode_failure(Decoder& from, Result<T>& out) {
    std::uint8_t code, layer, retry;
    std::int32_t native;
    std::string message;
    if (!from.read(code, layer, retry, native, message)) return false;
    std::uint32_t wait = 0;
    if ((retry & kFailureHasWait) != 0 && !from.read(wait)) return false;
    std::string details;
    if ((retry & kFailureHasDetails) != 0 && !from.read(details)) return false;
    retry &= static_cast<std::uint8_t>(~(kFailureHasWait | kFailureHasDetails));
    const bool valid = details.size() <= kStatusDetailsMax && code != 0 && is_status_code(code) &&
                       layer <= static_cast<unsigned>(Layer::kRpc) &&
                       retry <= static_cast<unsigned>(Retry::kReconnect);
    if (!valid) return from.fail(DecodeFault::kStatus);
    Status failure{static_cast<StatusCode>(code), static_cast<Layer>(layer), std::move(message), native,
                   static_cast<Retry>(retry)};
    failure.set_retry_after(std::chrono::milliseconds{wait});
    if (!details.empty()) failure = failure.with_details(details);
    out = Result<T>{std::move(failure)};
    return true;
  }
};

#if defined(__cpp_lib_expected)
template <typename T, typename E>
struct Codec<std::expected<T, E>, Kind::kExpected> {
  using Expected = std::expected<T, E>;

  static void encoded_size(Sizer& size, const Expected& value) {
    size.skip(1);
    if (!value)
      size.add(value.error());
    else if constexpr (!std::is_void_v<T>)
      size.add(*value);
  }
  template <bool kChecked>
  static void encode(BasicEncoder<kChecked>& to, const Expected& value) {
    to.write(value.has_value());
    if (!value)
      to.write(value.error());
    else if constexpr (!std::is_void_v<T>)
      to.write(*value);
  }
  static bool decode(Decoder& from, Expected& out) {
    bool ok;
    if (!from.read(ok)) return false;
    if (!ok) {
      out = Expected{std::unexpect};
      return from.read(out.error());
    }
    if constexpr (std::is_void_v<T>) {
      out = Expected{};
      return true;
    } else {
      return from.read(out.emplace());
    }
  }
  static constexpr void append_schema(auto& to) {
    to.put("expected<");
    if constexpr (!std::is_void_v<T>) to.template type<T>();
    to.put(", ");
    to.template type<E>();
    to.put(">");
  }
};
#endif

}  // namespace weft::detail::codec_detail
