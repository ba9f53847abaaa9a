// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/utf8.hpp"

#include <cstdint>

namespace weft::detail {

std::size_t utf8_character_bytes(Bytes bytes) {
  const auto first = static_cast<std::uint8_t>(bytes[0]);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xF0 ? 4 : (first >= 0xE0 ? 3 : 2);
  if (first < 0xC2 || first > 0xF4 || bytes.size() < length) return 0;
  // Only the second byte has narrower bounds, which exclude overlong forms, surrogates and values above the
  // maximum.
  const std::uint8_t low = first == 0xE0 ? 0xA0 : (first == 0xF0 ? 0x90 : 0x80);
  const std::uint8_t high = first == 0xED ? 0x9F : (first == 0xF4 ? 0x8F : 0xBF);
  const auto second = static_cast<std::uint8_t>(bytes[1]);
  if (second < low || second > high) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((static_cast<std::uint8_t>(bytes[i]) & 0xC0) != 0x80) return 0;
  }
  return length;
}

std::size_t valid_utf8(Bytes bytes) {
  std::size_t at = 0;
  while (at < bytes.size()) {
    const std::size_t length = utf8_character_bytes(bytes.subspan(at));
    if (length == 0) break;
    at += length;
  }
  return at;
}

}  // namespace weft::detail
