// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <type_traits>

namespace weft::detail {

// Tried with g++ 12; no later one was at hand to try.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
inline constexpr bool kAggregatesDieTwice = true;
#else
inline constexpr bool kAggregatesDieTwice = false;
#endif

/// Type of an argument, as a forwarding reference deduces it, whose temporary the compiler may destroy twice:
/// an aggregate that owns memory, and is created inside a co_await expression. A moved object has the same
/// type.
template <typename Given>
inline constexpr bool dies_twice = kAggregatesDieTwice && !std::is_reference_v<Given> &&
                                   std::is_aggregate_v<Given> && !std::is_trivially_destructible_v<Given>;

/// Fails to compile, with the reason in words, when one of these arguments may be destroyed twice.
template <typename... Given>
consteval void refuse_what_dies_twice() {
  static_assert(
      !(dies_twice<Given> || ...),
      "weft cannot take this argument: g++ 12 destroys an aggregate that owns memory twice when it is "
      "made inside a co_await expression; give it a name first, and pass it by its name, not moved "
      "(see Coroutines and compilers in the documentation of Weft)");
}

}  // namespace weft::detail
