// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>
#include <variant>

#include "weft/detail/base/status.hpp"

namespace weft {

namespace detail {
/// Aborts with the failure's own text, because the value of a failed Result was accessed.
[[noreturn]] void value_of_failure(const Status& failure) noexcept;

/// The failure of a Result that was made of a Status without one.
inline constexpr FixedFailure kNoFailure{
    StatusCode::kInternal, Layer::kRuntime, Retry::kNever,
    "a Result was made of a Status that is no failure: return the value for success"};

/// The status that a Result with a value shows.
inline const Status& ok_status() noexcept {
  static const Status ok;
  return ok;
}
}  // namespace detail

/// A `T`, or the Status that says why there is none. The Status inside is never ok: of a success given in
/// place of a value it becomes kInternal, so that a handler's mistake fails one call.
template <typename T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result()
    requires std::is_default_constructible_v<T>
      : state_(std::in_place_index<0>) {}
  template <typename U = T>
    requires(std::is_constructible_v<T, U &&> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Status>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}
  Result(Status failure) noexcept : state_(std::in_place_index<1>, std::move(failure)) {
    if (std::get<1>(state_).ok()) [[unlikely]] {
      std::get<1>(state_) = Status::of<detail::kNoFailure>();
    }
  }

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  /// The value; aborts with the failure's text when there is none.
  T& value() & { return checked(); }
  const T& value() const& { return const_cast<Result*>(this)->checked(); }
  /// A temporary gives its value away, so that `for (x : f().value())` and references to it are safe.
  T value() && { return std::move(checked()); }
  T& operator*() & { return checked(); }
  const T& operator*() const& { return const_cast<Result*>(this)->checked(); }
  T operator*() && { return std::move(checked()); }
  T* operator->() { return &checked(); }
  const T* operator->() const { return &const_cast<Result*>(this)->checked(); }

  template <typename U>
    requires std::copy_constructible<T>
  T value_or(U&& fallback) const& {
    return ok() ? std::get<0>(state_) : static_cast<T>(std::forward<U>(fallback));
  }
  template <typename U>
  T value_or(U&& fallback) && {
    return ok() ? std::move(std::get<0>(state_)) : static_cast<T>(std::forward<U>(fallback));
  }

  /// The failure, or an ok Status. Of a Result that has a name it is a reference, valid as long as the Result
  /// is and keeps its failure.
  const Status& status() const& noexcept { return ok() ? detail::ok_status() : std::get<1>(state_); }
  Status status() && noexcept { return ok() ? Status{} : std::move(std::get<1>(state_)); }

 private:
  T& checked() {
    if (!ok()) detail::value_of_failure(std::get<1>(state_));
    return std::get<0>(state_);
  }

  std::variant<T, Status> state_;
};

/// Success without a value, or the Status that says why not.
template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() noexcept = default;
  Result(Status status) noexcept : status_(std::move(status)) {}

  bool ok() const noexcept { return status_.ok(); }
  explicit operator bool() const noexcept { return ok(); }
  /// Aborts with the failure's text when there is one.
  void value() const {
    if (!ok()) detail::value_of_failure(status_);
  }
  /// The failure, or an ok Status; a reference as above.
  const Status& status() const& noexcept { return status_; }
  Status status() && noexcept { return std::move(status_); }

 private:
  Status status_;
};

namespace detail {

template <typename T>
inline constexpr bool is_result = false;
template <typename T>
inline constexpr bool is_result<Result<T>> = true;

}  // namespace detail

}  // namespace weft
