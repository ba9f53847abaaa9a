// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "weft/detail/base/lifetime_bound.hpp"
#include "weft/detail/calls/terms/kept_body.hpp"
#include "weft/detail/codec/arena.hpp"
#include "weft/detail/functions/codec_answer.hpp"

namespace weft {

namespace detail {
template <typename T>
class AnswerInPlace;
}  // namespace detail

/// A result with views, and the memory in which it was received: what `co_await client.call<f>(...).view()`
/// gives. The views are valid until the object is destroyed or assigned to; a move keeps them. It may keep up
/// to sixteen times the bytes of the result, so copy results that are kept for long. Independent of the call
/// and the client. Thread: the client's loop, which must outlive it.
template <typename T>
class Received {
 public:
  Received(Received&&) noexcept = default;
  Received& operator=(Received&& other) noexcept {
    if (this != &other) {
      std::destroy_at(this);
      std::construct_at(this, std::move(other));
    }
    return *this;
  }
  ~Received() = default;

  const T& operator*() const noexcept WEFT_LIFETIME_BOUND { return value_; }
  const T* operator->() const noexcept WEFT_LIFETIME_BOUND { return &value_; }

 private:
  friend class detail::AnswerInPlace<T>;
  Received() = default;

  detail::KeptBody body_;
  detail::DecodeArena arena_;
  T value_ = T();
};

namespace detail {

/// The view of a result that the handler declares as `R`, where it is plain which: void for other types.
template <typename R>
struct PlainView {
  using Type = void;
};
template <typename Traits, typename Allocator>
struct PlainView<std::basic_string<char, Traits, Allocator>> {
  using Type = std::string_view;
};
template <>
struct PlainView<std::string_view> {
  using Type = std::string_view;
};
template <typename E, typename Allocator>
  requires Decodable<std::span<const E>>
struct PlainView<std::vector<E, Allocator>> {
  using Type = std::span<const E>;
};
template <typename E, std::size_t N>
struct PlainView<std::span<E, N>> {
  using Type = std::span<const std::remove_const_t<E>>;
};

/// `View`, or where it is void the PlainView of `R`.
template <typename View, typename R>
using ViewOr = std::conditional_t<std::is_void_v<View>, typename PlainView<R>::Type, View>;

/// Fails to compile with the reason in words when a result `R` cannot be looked at as a `T`.
template <typename T, typename R>
consteval bool explain_view() {
  if constexpr (std::is_void_v<T>) {
    static_assert(!std::is_void_v<T>,
                  "weft knows no view of this function's result: name one that has the same fields, with "
                  "std::string_view for strings and std::span<const E> for vectors: "
                  "client.call<f>(...).view<PageView>()");
    return false;
  } else {
    constexpr bool kReads = ReadsResult<T, R>;
    static_assert(kReads,
                  "weft cannot look at the result by this view: its schema differs from the one of the "
                  "function's result; give it the same fields, with std::string_view for strings and "
                  "std::span<const E> for vectors");
    return kReads;
  }
}

/// Keeps the answer where it was received, and decodes views of it.
template <typename T>
class AnswerInPlace {
 public:
  using Value = Received<T>;
  static constexpr bool kReadsByHooks = runs_hooks<T>();

  void read(Bytes body, const ChunkRef* chunk, Status& failure) noexcept {
    try {
      value_.emplace(Value{});
      value_->body_.keep(body, chunk);
      Result<void> decoded = decode_from(value_->body_.bytes(), value_->arena_, value_->value_);
      if (!decoded.ok()) failure = std::move(decoded).status();
    } catch (...) {
      failure = codec_detail::failure_of_decoding();
    }
  }
  Value&& take() { return std::move(*value_); }

 private:
  std::optional<Value> value_;
};

}  // namespace detail

}  // namespace weft
