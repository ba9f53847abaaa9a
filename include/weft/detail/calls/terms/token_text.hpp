// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace weft::detail {

/// Text that stands before a token in a call's metadata.
inline constexpr std::string_view kBearer = "Bearer ";
/// Longest token: there is room for other metadata beside it.
inline constexpr std::size_t kTokenBytesMax = 4096;

/// Returns true if `text` is made as tokens are: RFC 6750, section 2.1, with padding anywhere.
constexpr bool is_token(std::string_view text) noexcept {
  constexpr auto is_of_token = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '_' || c == '~' || c == '+' || c == '/' || c == '=';
  };
  return !text.empty() && text.size() <= kTokenBytesMax && std::ranges::all_of(text, is_of_token);
}

/// Returns the token of a value of kAuthorizationKey; empty when it has none, or one that is not made as
/// tokens are.
constexpr std::string_view bearer_token_of(std::string_view value) noexcept {
  if (!value.starts_with(kBearer)) return {};
  const std::string_view token = value.substr(kBearer.size());
  return is_token(token) ? token : std::string_view{};
}

}  // namespace weft::detail
