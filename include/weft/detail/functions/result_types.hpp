// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "weft/detail/codec/check.hpp"

namespace weft::detail {

template <typename... Lists>
struct Joined {
  using Type = codec_detail::Types<>;
};
template <typename... Ts>
struct Joined<codec_detail::Types<Ts...>> {
  using Type = codec_detail::Types<Ts...>;
};
template <typename... Ts, typename... Us, typename... Lists>
struct Joined<codec_detail::Types<Ts...>, codec_detail::Types<Us...>, Lists...>
    : Joined<codec_detail::Types<Ts..., Us...>, Lists...> {};

/// Number of types that are no later additions.
template <typename... Ts>
consteval std::size_t count_plain(codec_detail::Types<Ts...>) {
  return (std::size_t{0} + ... +
          (codec_detail::kind_of<std::remove_cv_t<Ts>> == codec_detail::Kind::kCompatible ? 0 : 1));
}

template <typename R>
consteval auto result_types();

template <typename... Ms>
consteval auto joined_types(codec_detail::Types<Ms...>) {
  return typename Joined<decltype(result_types<std::remove_cv_t<Ms>>())...>::Type{};
}

/// Returns the types that describe the result `R`, as if they were returned side by side. A tuple or struct
/// of at most one value, with any additions, is described as this value and the additions, so that a result
/// grows as arguments do: void and T into a tuple or struct that holds it and a Compatible, and back.
template <typename R>
consteval auto result_types() {
  using codec_detail::Kind;
  if constexpr (std::is_void_v<R>) {
    return codec_detail::Types<>{};
  } else if constexpr (codec_detail::encode_problem<R> != codec_detail::Problem::kNone) {
    return codec_detail::Types<R>{};  // asking for its schema reports the reason
  } else if constexpr (codec_detail::kind_of<R> == Kind::kEmpty) {
    return codec_detail::Types<>{};
  } else if constexpr (codec_detail::kind_of<R> == Kind::kTuple ||
                       codec_detail::kind_of<R> == Kind::kAggregate) {
    constexpr auto kTypes = joined_types(codec_detail::members_of<R>{});
    if constexpr (count_plain(kTypes) <= 1) {
      return kTypes;
    } else {
      return codec_detail::Types<R>{};
    }
  } else {
    return codec_detail::Types<R>{};
  }
}

}  // namespace weft::detail
