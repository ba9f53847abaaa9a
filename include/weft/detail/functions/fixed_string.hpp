// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string_view>

namespace weft::detail {

/// A string literal as a template argument.
template <std::size_t N>
struct FixedString {
  char text[N]{};

  constexpr FixedString(const char (&literal)[N]) {  // NOLINT(google-explicit-constructor): literals convert
    for (std::size_t i = 0; i < N; ++i) text[i] = literal[i];
  }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

}  // namespace weft::detail
