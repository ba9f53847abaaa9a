// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <type_traits>
#include <utility>

namespace weft {

/// A field, or a last argument, that was added to a message after others were already using it. It behaves as
/// std::optional<T>: empty when the sender did not know it. Readers that do not know it ignore it.
/// `kVersion` is the version of the message that brought it: give each later addition a higher one, never
/// remove or change one that was released. docs/internals/codec.md has the rules.
template <typename T, unsigned kVersion = 1>
struct Compatible : std::optional<T> {
  static constexpr unsigned kSince = kVersion;

  constexpr Compatible() = default;
  constexpr Compatible(std::nullopt_t) {}
  constexpr Compatible(std::optional<T> value) : std::optional<T>(std::move(value)) {}
  template <typename U = T>
    requires(std::is_convertible_v<U &&, T> && !std::is_base_of_v<std::optional<T>, std::remove_cvref_t<U>>)
  constexpr Compatible(U&& value) : std::optional<T>(std::in_place, std::forward<U>(value)) {}
};

}  // namespace weft
