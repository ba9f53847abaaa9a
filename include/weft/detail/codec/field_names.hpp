// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "weft/detail/codec/fields.hpp"

/// Names of the fields of aggregates, which compilers print as a part of the name of a function template that
/// has the address of a field as its argument. Include this header only where names are wanted: each name
/// costs an instantiation.
namespace weft::detail::codec_detail {

/// Memory for a `T` that is never made: only addresses of its fields are taken.
template <typename T>
union Unmade {
  constexpr Unmade() : none{} {}
  constexpr ~Unmade() {}

  char none;
  T value;
};
template <typename T>
inline constexpr Unmade<T> unmade{};

template <typename T>
inline constexpr auto field_addresses =
    visit_fields(unmade<T>.value, [](auto&... fields) { return std::tuple{&fields...}; });

/// Ends with the name of the field: "... [P = &unmade.value.name]", or "... [with auto P =
/// (& unmade<T>.Unmade<T>::value.T::name)]".
template <auto kField>
consteval const char* print_field() {
  return __PRETTY_FUNCTION__;
}
template <auto kField>
consteval std::string_view name_of_field() {
  std::string_view printed = print_field<kField>();
  printed = printed.substr(0, printed.find_last_not_of(")]") + 1);
  return printed.substr(printed.find_last_of(":.") + 1);
}

template <typename T, std::size_t... kPlaces>
consteval auto find_field_names(std::index_sequence<kPlaces...>) {
  return std::array<std::string_view, sizeof...(kPlaces)>{
      name_of_field<std::get<kPlaces>(field_addresses<T>)>()...};
}

/// The names of the fields of the aggregate `T`, whose field_fault is kNone, in their order.
template <typename T>
inline constexpr auto field_names = find_field_names<T>(std::make_index_sequence<field_count<T>>{});

}  // namespace weft::detail::codec_detail
