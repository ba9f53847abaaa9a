// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/codec/codec.hpp"

namespace weft::testing {

inline constexpr std::string_view kHexDigits = "0123456789abcdef";

/// Returns `bytes` in hexadecimal digits; "-" if there are none.
inline std::string to_hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kHexDigits[std::to_integer<unsigned>(byte) >> 4];
    text += kHexDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return text.empty() ? "-" : text;
}

/// Appends what to_hex() wrote to `bytes`. Returns false if `text` is something else.
inline bool from_hex(std::string_view text, std::string& bytes) {
  if (text == "-") return true;
  if (text.size() % 2 != 0 || text.find_first_not_of(kHexDigits) != std::string_view::npos) return false;
  for (std::size_t at = 0; at < text.size(); at += 2) {
    bytes += static_cast<char>(kHexDigits.find(text[at]) * 16 + kHexDigits.find(text[at + 1]));
  }
  return true;
}

/// Returns the message that is made of `values`, in hexadecimal digits.
template <typename... Ts>
std::string hex_of(const Ts&... values) {
  std::vector<std::byte> bytes(detail::encoded_size(values...));
  detail::encode_to(bytes.data(), bytes.size(), values...);
  return to_hex(bytes);
}

}  // namespace weft::testing
