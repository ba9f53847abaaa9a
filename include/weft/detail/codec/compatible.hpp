// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

/// A field, or a last argument, that was added to a message after others were already using it. It behaves as
/// std::optional<T>: empty when the sender did not know it. Readers that do not know it ignore it.
/// `kVersion` is the version of the message that brought it: give each later addition a higher one, never
/// remove or change one that was released. docs/internals/codec.md has the rules.
template <typename T, unsigned kVersion = 1>
struct Compatible {
  using value_type = T;
  static constexpr unsigned kSince = kVersion;

  constexpr Compatible() = default;
  constexpr Compatible(std::nullopt_t) {}
  constexpr Compatible(std::optional<T> value) : value_(std::move(value)) {}
  template <typename U = T>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Compatible> &&
             !std::is_same_v<std::remove_cvref_t<U>, std::optional<T>>)
  constexpr Compatible(U&& value) : value_(std::in_place, std::forward<U>(value)) {}

  constexpr bool has_value() const { return value_.has_value(); }
  constexpr explicit operator bool() const { return value_.has_value(); }
  /// The value; undefined when there is none.
  constexpr T& operator*() { return *value_; }
  constexpr const T& operator*() const { return *value_; }
  constexpr T* operator->() { return &*value_; }
  constexpr const T* operator->() const { return &*value_; }
  template <typename U>
  constexpr T value_or(U&& fallback) const {
    return value_.value_or(std::forward<U>(fallback));
  }

  template <typename... Args>
  constexpr T& emplace(Args&&... args) {
    return value_.emplace(std::forward<Args>(args)...);
  }
  constexpr void reset() { value_.reset(); }

  friend constexpr bool operator==(const Compatible&, const Compatible&) = default;
  friend constexpr bool operator==(const Compatible& a, std::nullopt_t) { return !a.has_value(); }
  // Asked for no other left side: the question whether a tuple of these compares with itself led back here.
  template <std::same_as<Compatible> Self, typename U>
    requires(!std::is_same_v<U, Compatible> && std::equality_comparable_with<T, U>)
  friend constexpr bool operator==(const Self& a, const U& b) {
    return a.has_value() && *a == b;
  }

 private:
  std::optional<T> value_;
};

}  // namespace weft
