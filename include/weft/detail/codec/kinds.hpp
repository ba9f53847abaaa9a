// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <version>

#include "weft/detail/base/result.hpp"
#include "weft/detail/codec/compatible.hpp"
#include "weft/detail/codec/traits.hpp"
#if defined(__cpp_lib_expected)
#include <expected>
#endif

namespace weft::detail {

namespace codec_detail {

/// Kind of a type, as the codec sees it. Containers are known by their shape, so that no container's header
/// is needed.
enum class Kind : unsigned char {
  kUnsupported,
  kUserWire,  // CodecTraits with a stand-in type
  kUser,      // CodecTraits written by hand
  kBool,
  kNumber,
  kLongDouble,
  kEnum,
  kText,      // std::string, std::string_view
  kView,      // std::span and other string views: pointer and count, owning nothing
  kSequence,  // vector, deque, list, wide strings
  kSet,
  kMap,
  kArray,  // std::array and arrays of the language
  kTuple,  // std::tuple and std::pair
  kAggregate,
  kOptional,
  kUnique,
  kVariant,
  kEmpty,  // std::monostate
  kResult,
  kExpected,
  kDuration,
  kTimePoint,
  kCompatible,
};

template <typename T>
inline constexpr Kind template_kind = Kind::kUnsupported;
template <typename Traits, typename A>
inline constexpr Kind template_kind<std::basic_string<char, Traits, A>> = Kind::kText;
template <typename Traits>
inline constexpr Kind template_kind<std::basic_string_view<char, Traits>> = Kind::kText;
template <typename E, std::size_t N>
inline constexpr Kind template_kind<std::array<E, N>> = Kind::kArray;
template <typename E, std::size_t N>
inline constexpr Kind template_kind<E[N]> = Kind::kArray;
template <typename... Ts>
inline constexpr Kind template_kind<std::tuple<Ts...>> = Kind::kTuple;
template <typename A, typename B>
inline constexpr Kind template_kind<std::pair<A, B>> = Kind::kTuple;
template <typename T>
inline constexpr Kind template_kind<std::optional<T>> = Kind::kOptional;
template <typename T>
  requires(!std::is_array_v<T>)
inline constexpr Kind template_kind<std::unique_ptr<T>> = Kind::kUnique;
template <typename... Ts>
inline constexpr Kind template_kind<std::variant<Ts...>> = Kind::kVariant;
template <>
inline constexpr Kind template_kind<std::monostate> = Kind::kEmpty;
template <typename T>
inline constexpr Kind template_kind<Result<T>> = Kind::kResult;
template <typename Rep, typename Period>
inline constexpr Kind template_kind<std::chrono::duration<Rep, Period>> = Kind::kDuration;
template <typename Clock, typename D>
inline constexpr Kind template_kind<std::chrono::time_point<Clock, D>> = Kind::kTimePoint;
template <typename T, unsigned kVersion>
inline constexpr Kind template_kind<Compatible<T, kVersion>> = Kind::kCompatible;
#if defined(__cpp_lib_expected)
template <typename T, typename E>
inline constexpr Kind template_kind<std::expected<T, E>> = Kind::kExpected;
#endif

template <typename T>
concept ContainerShape = requires(const T& c) {
  typename T::value_type;
  { c.size() } -> std::convertible_to<std::size_t>;
  c.begin();
  c.end();
};
template <typename T>
concept ViewShape = ContainerShape<T> && std::is_trivially_copyable_v<T> && requires(const T& c) {
  c.data();
  T{c.data(), c.size()};
};
template <typename T>
concept SequenceShape = ContainerShape<T> && requires(T& c, typename T::value_type&& e) {
  c.push_back(std::move(e));
  c.clear();
};
template <typename T>
concept KeyedShape = ContainerShape<T> && requires(T& c) {
  typename T::key_type;
  c.clear();
};
template <typename T>
concept MapShape = KeyedShape<T> && requires { typename T::mapped_type; };

/// Containers that can be read and written through one pointer (not std::vector<bool>).
template <typename T>
concept Contiguous = requires(T& c) {
  { c.data() } -> std::convertible_to<const typename T::value_type*>;
};

/// True for a class of namespace std. Its name decides, so that no container's header is needed.
template <typename T>
consteval bool is_of_std() {
  const std::string_view name = __PRETTY_FUNCTION__;
  return name.find("T = std::") != std::string_view::npos;
}
/// Containers with no data beside their elements: containers of the standard library, and containers named by
/// the user. A class derived from a container may have members that the codec does not see.
template <typename T>
concept KnownContainer = ContainerShape<T> && (is_codec_container<T> || is_of_std<T>());

template <typename T>
consteval Kind shape_kind() {
  if constexpr (std::is_same_v<T, bool>)
    return Kind::kBool;
  else if constexpr (std::is_same_v<T, long double>)
    return Kind::kLongDouble;
  else if constexpr (std::is_arithmetic_v<T>)
    return Kind::kNumber;
  else if constexpr (std::is_enum_v<T>)
    return Kind::kEnum;
  else if constexpr (template_kind<T> != Kind::kUnsupported)
    return template_kind<T>;
  else if constexpr (!std::is_class_v<T>)
    return Kind::kUnsupported;
  else if constexpr (ContainerShape<T> && !KnownContainer<T>)
    return Kind::kUnsupported;
  else if constexpr (MapShape<T>)
    return Kind::kMap;
  else if constexpr (KeyedShape<T>)
    return Kind::kSet;
  else if constexpr (SequenceShape<T>)
    return Kind::kSequence;
  else if constexpr (ViewShape<T>)
    return Kind::kView;
  else if constexpr (std::is_aggregate_v<T>)
    return Kind::kAggregate;
  else
    return Kind::kUnsupported;
}

template <typename T>
consteval Kind find_kind() {
  if constexpr (std::is_scalar_v<T> && !std::is_enum_v<T>)
    return shape_kind<T>();
  else if constexpr (requires { typename CodecTraits<T>::NotSpecialised; })
    return shape_kind<T>();
  else if constexpr (requires { typename CodecTraits<T>::Wire; })
    return Kind::kUserWire;
  else
    return Kind::kUser;
}

/// The kind of `T`, which has no const or reference.
template <typename T>
inline constexpr Kind kind_of = find_kind<T>();

}  // namespace codec_detail
}  // namespace weft::detail
