// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <type_traits>

#include "weft/detail/codec/limits.hpp"

/// Reflection of aggregates without macros: how many fields there are, and a visit of all of them at once.
namespace weft::detail::codec_detail {

/// Converts to the base classes of `T` only, so that it can initialise the first element of `T` only where
/// that element is a base class.
template <typename T>
struct AnyBaseOf {
  template <typename U>
    requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>)
  constexpr operator U() const;
};

template <typename T>
inline constexpr bool has_base_class = requires { T{AnyBaseOf<T>{}}; };

/// The number of fields of the aggregate `T`: the most `{}` it can be initialised with. An empty pair of
/// braces never spreads over the elements of an array field, so that an array counts as the one field it is.
template <typename T>
consteval std::size_t count_fields() {
  // clang-format off
  if constexpr (std::is_empty_v<T>) return 0;
  else if constexpr (!requires { T{{}}; }) return 0;
  else if constexpr (!requires { T{{},{}}; }) return 1;
  else if constexpr (!requires { T{{},{},{}}; }) return 2;
  else if constexpr (!requires { T{{},{},{},{}}; }) return 3;
  else if constexpr (!requires { T{{},{},{},{},{}}; }) return 4;
  else if constexpr (!requires { T{{},{},{},{},{},{}}; }) return 5;
  else if constexpr (!requires { T{{},{},{},{},{},{},{}}; }) return 6;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{}}; }) return 7;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{}}; }) return 8;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{}}; }) return 9;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{}}; }) return 10;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 11;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 12;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 13;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 14;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 15;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 16;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 17;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; }) return 18;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; })
    return 19;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; })
    return 20;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; })
    return 21;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{}}; })
    return 22;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{}}; })
    return 23;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{}}; })
    return 24;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{}}; })
    return 25;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{},{}}; })
    return 26;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{},{},{}}; })
    return 27;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{},{},{},{}}; })
    return 28;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{},{},{},{},{}}; })
    return 29;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{},{},{},{},{},{}}; })
    return 30;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{},{},{},{},{},{},{}}; })
    return 31;
  else if constexpr (!requires { T{{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},
                                   {},{},{},{},{},{},{},{},{},{},{},{}}; })
    return 32;
  else return 33;
  // clang-format on
}

template <typename T>
inline constexpr std::size_t field_count = count_fields<std::remove_cv_t<T>>();

/// Calls `visit(field...)` with all fields of `value` and returns what it returns.
template <typename T, typename F>
constexpr decltype(auto) visit_fields(T& value, F&& visit) {
  constexpr std::size_t kCount = field_count<T>;
  static_assert(kCount <= CodecLimits::kFieldsMax);
  // clang-format off
  if constexpr (kCount == 0) { return visit(); }
  else if constexpr (kCount == 1) { auto& [a] = value; return visit(a); }
  else if constexpr (kCount == 2) { auto& [a, b] = value; return visit(a, b); }
  else if constexpr (kCount == 3) { auto& [a, b, c] = value; return visit(a, b, c); }
  else if constexpr (kCount == 4) { auto& [a, b, c, d] = value; return visit(a, b, c, d); }
  else if constexpr (kCount == 5) { auto& [a, b, c, d, e] = value; return visit(a, b, c, d, e); }
  else if constexpr (kCount == 6) { auto& [a, b, c, d, e, f] = value; return visit(a, b, c, d, e, f); }
  else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = value;
    return visit(a, b, c, d, e, f, g);
  }
  else if constexpr (kCount == 8) {
    auto& [a, b, c, d, e, f, g, h] = value;
    return visit(a, b, c, d, e, f, g, h);
  }
  else if constexpr (kCount == 9) {
    auto& [a, b, c, d, e, f, g, h, i] = value;
    return visit(a, b, c, d, e, f, g, h, i);
  }
  else if constexpr (kCount == 10) {
    auto& [a, b, c, d, e, f, g, h, i, j] = value;
    return visit(a, b, c, d, e, f, g, h, i, j);
  }
  else if constexpr (kCount == 11) {
    auto& [a, b, c, d, e, f, g, h, i, j, k] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k);
  }
  else if constexpr (kCount == 12) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l);
  }
  else if constexpr (kCount == 13) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m);
  }
  else if constexpr (kCount == 14) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
  }
  else if constexpr (kCount == 15) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o);
  }
  else if constexpr (kCount == 16) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p);
  }
  else if constexpr (kCount == 17) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q);
  }
  else if constexpr (kCount == 18) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r);
  }
  else if constexpr (kCount == 19) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s);
  }
  else if constexpr (kCount == 20) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
  }
  else if constexpr (kCount == 21) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u);
  }
  else if constexpr (kCount == 22) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v);
  }
  else if constexpr (kCount == 23) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w);
  }
  else if constexpr (kCount == 24) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x);
  }
  else if constexpr (kCount == 25) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y);
  }
  else if constexpr (kCount == 26) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z);
  }
  else if constexpr (kCount == 27) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa);
  }
  else if constexpr (kCount == 28) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb] =
      value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb);
  }
  else if constexpr (kCount == 29) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc] =
      value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb,
      cc);
  }
  else if constexpr (kCount == 30) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd]
      = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb,
      cc, dd);
  }
  else if constexpr (kCount == 31) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd,
      ee] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb,
      cc, dd, ee);
  }
  else if constexpr (kCount == 32) {
    auto& [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb, cc, dd,
      ee, ff] = value;
    return visit(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, bb,
      cc, dd, ee, ff);
  }
  // clang-format on
}

}  // namespace weft::detail::codec_detail
