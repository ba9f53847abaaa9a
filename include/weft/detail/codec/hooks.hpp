// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

#include "weft/detail/codec/check.hpp"
#include "weft/detail/codec/facts.hpp"

namespace weft::detail {

namespace codec_detail {

/// Types that are nested deeper, recursive ones among them, are taken to have hooks.
inline constexpr unsigned kHookDepthMax = 8;

template <typename T, unsigned kDepth>
consteval bool finds_hook();

template <unsigned kDepth, typename... Ts>
consteval bool any_finds_hook(Types<Ts...>) {
  return (... || finds_hook<std::remove_cv_t<Ts>, kDepth>());
}

template <typename T>
struct ParametersOf {
  using type = Types<>;
};
template <template <typename...> typename Of, typename... Ts>
struct ParametersOf<Of<Ts...>> {
  using type = Types<Ts...>;
};
template <typename T, unsigned kVersion>
struct ParametersOf<Compatible<T, kVersion>> {
  using type = Types<T>;
};

template <typename T, unsigned kDepth>
consteval bool finds_hook() {
  if constexpr (std::is_void_v<T>) {
    return false;
  } else if constexpr (kind_of<T> == Kind::kUserWire || kind_of<T> == Kind::kUser) {
    return true;
  } else if constexpr (kDepth == kHookDepthMax) {
    return !std::is_scalar_v<T>;
  } else if constexpr (kind_of<T> == Kind::kSequence || kind_of<T> == Kind::kSet ||
                       kind_of<T> == Kind::kMap || kind_of<T> == Kind::kView) {
    return finds_hook<std::remove_cv_t<typename T::value_type>, kDepth + 1>();
  } else if constexpr (kind_of<T> == Kind::kArray) {
    return finds_hook<std::remove_cv_t<typename ArrayOf<T>::Element>, kDepth + 1>();
  } else if constexpr (kind_of<T> == Kind::kUnique) {
    return finds_hook<std::remove_cv_t<typename T::element_type>, kDepth + 1>();
  } else if constexpr (kind_of<T> == Kind::kTuple || kind_of<T> == Kind::kAggregate) {
    return any_finds_hook<kDepth + 1>(members_of<T>{});
  } else if constexpr (kind_of<T> == Kind::kOptional || kind_of<T> == Kind::kVariant ||
                       kind_of<T> == Kind::kResult || kind_of<T> == Kind::kExpected ||
                       kind_of<T> == Kind::kCompatible) {
    return any_finds_hook<kDepth + 1>(typename ParametersOf<T>::type{});
  } else {
    return false;
  }
}

}  // namespace codec_detail

/// Returns true if encoding values of these types, which can be encoded, runs user code: CodecTraits. That
/// code may use Weft, so it runs before a frame is begun, see EncodedAhead.
template <typename... Ts>
consteval bool runs_hooks() {
  if constexpr ((... && (codec_detail::encode_problem<Ts> == codec_detail::Problem::kNone))) {
    return (... || codec_detail::finds_hook<std::remove_cv_t<Ts>, 0>());
  } else {
    return false;
  }
}

}  // namespace weft::detail
