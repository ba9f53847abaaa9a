// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
#include <type_traits>

namespace weft {

namespace detail {

/// Has the shape of std::reference_wrapper: `type`, get() and the conversion to a reference.
template <typename T>
concept ReferenceWrapper = requires(T& wrapper) {
  typename T::type;
  { wrapper.get() } -> std::same_as<typename T::type&>;
} && std::convertible_to<T, std::add_lvalue_reference_t<typename T::type>>;

}  // namespace detail

/// True for types that refer to memory owned by another object. Containers of views are views too. Specialise
/// it for your own views.
template <typename T>
inline constexpr bool is_view = detail::ReferenceWrapper<T> || std::is_reference_v<T>;
template <typename Char, typename Traits>
inline constexpr bool is_view<std::basic_string_view<Char, Traits>> = true;
template <typename T, std::size_t N>
inline constexpr bool is_view<std::span<T, N>> = true;
template <template <typename...> class Container, typename... Parts>
inline constexpr bool is_view<Container<Parts...>> =
    detail::ReferenceWrapper<Container<Parts...>> || (is_view<Parts> || ...);

}  // namespace weft
