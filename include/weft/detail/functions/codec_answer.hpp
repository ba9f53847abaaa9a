// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/codec/codec.hpp"
#include "weft/detail/codec/hooks.hpp"
#include "weft/detail/functions/views.hpp"

/// Readers of answers by the codec, see AnswerReader.
namespace weft::detail {

/// Type that a caller gets for a result that the handler returns as a view: a client has no request to
/// point into.
template <typename T>
struct OwnedResult {
  using Type = T;
};
template <>
struct OwnedResult<std::string_view> {
  using Type = std::string;
};
template <typename T, std::size_t N>
struct OwnedResult<std::span<T, N>> {
  using Type = std::vector<std::remove_const_t<T>>;
};

/// Decodes the result into a value of its own.
template <typename R>
class CodecAnswer {
  static_assert(!holds_view<R>,
                "weft cannot make this call: its result holds views, and the answer that they would show is "
                "gone when the caller has it; let the handler return a type that owns what it holds, or call "
                "it by its key with such a type: weft::remote<\"key\", R(...)>");

 public:
  using Value = R;
  /// read() runs code of the user's.
  static constexpr bool kReadsByHooks = runs_hooks<R>();

  void read(Bytes body, Status& failure) noexcept {
    try {
      DecodeArena arena;
      Result<void> decoded = decode(body, arena);
      if (!decoded.ok()) [[unlikely]] {
        failure = std::move(decoded).status();
      }
    } catch (...) {
      failure = codec_detail::failure_of_decoding();
    }
  }

  auto&& take()
    requires(!std::is_void_v<R>)
  {
    return std::move(*value_);
  }

 private:
  Result<void> decode(Bytes body, DecodeArena& arena) {
    if constexpr (std::is_void_v<R>) {
      return decode_from(body, arena);
    } else {
      return decode_from(body, arena, value_.emplace());
    }
  }

  struct Nothing {};
  std::optional<std::conditional_t<std::is_void_v<R>, Nothing, R>> value_;
};

/// `T` is decoded from a result that the handler declares as `R`.
template <typename T, typename R>
concept ReadsResult = !std::is_void_v<R> && Decodable<T> && schema_hash<T>() == schema_hash<R>();

/// Fails to compile with the reason in words when a result `R` cannot be decoded into a `T` of the caller's.
template <typename T, typename R>
consteval bool explain_into() {
  constexpr bool kOwns = !std::is_const_v<T> && !holds_view<T>;
  static_assert(kOwns,
                "weft cannot decode into this value: it is const, or holds views, and the answer that they "
                "would show is gone when the caller has it; give a value that owns what it holds, or look "
                "at the result where it was received: co_await client.call<f>(...).view()");
  constexpr bool kReads = ReadsResult<T, R>;
  static_assert(!kOwns || kReads,
                "weft cannot decode into this value: its schema differs from the one of the function's "
                "result; give the type that client.call<f>(...) returns, or one with the same fields");
  return kOwns && kReads;
}

/// Decodes the result into a value of the caller's, whose memory is used again.
template <typename T>
class AnswerInto {
 public:
  using Value = void;
  static constexpr bool kReadsByHooks = runs_hooks<T>();

  explicit AnswerInto(T& value) : into_(&value) {}

  void read(Bytes body, Status& failure) noexcept {
    try {
      DecodeArena arena;
      Result<void> decoded = decode(body, arena);
      if (!decoded.ok()) failure = std::move(decoded).status();
    } catch (...) {
      failure = codec_detail::failure_of_decoding();
    }
  }

 private:
  Result<void> decode(Bytes body, DecodeArena& arena) {
    if constexpr (kReadsByHooks) {
      // A hook may expect an object without content.
      T fresh = T();
      Result<void> decoded = decode_from(body, arena, fresh);
      if (decoded.ok()) *into_ = std::move(fresh);
      return decoded;
    } else {
      return decode_from(body, arena, *into_);
    }
  }

  T* into_;
};

}  // namespace weft::detail
