// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace weft::detail::http {

/// Classes of bytes; a byte may be in several.
struct ByteClass {
  static constexpr std::uint8_t kToken = 1;  ///< tchar (RFC 9110, 5.6.2)
  static constexpr std::uint8_t kPath = 2;   ///< pchar and '/', without '%' (RFC 3986, 3.3)
  static constexpr std::uint8_t kQuery = 4;  ///< kPath and '?' (RFC 3986, 3.4)
  static constexpr std::uint8_t kHost = 8;   ///< unreserved characters of a host's name (RFC 3986, 2.3)
  static constexpr std::uint8_t kHex = 16;   ///< hexadecimal digit, in any letter case
};

namespace byte_classes {

constexpr void add(std::array<std::uint8_t, 256>& table, std::string_view bytes, std::uint8_t classes) {
  for (const char byte : bytes) table[static_cast<unsigned char>(byte)] |= classes;
}

constexpr std::array<std::uint8_t, 256> make() {
  using Class = ByteClass;
  constexpr std::uint8_t kPathToo = Class::kPath | Class::kQuery;
  std::array<std::uint8_t, 256> table{};
  add(table, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~",
      Class::kToken | kPathToo | Class::kHost);
  add(table, "!#$%&'*+^`|", Class::kToken);
  add(table, "!$&'()*+,;=:@/", kPathToo);
  add(table, "?", Class::kQuery);
  add(table, "0123456789ABCDEFabcdef", Class::kHex);
  return table;
}

inline constexpr std::array<std::uint8_t, 256> kTable = make();

}  // namespace byte_classes

inline bool is_in(char byte, std::uint8_t classes) {
  return (byte_classes::kTable[static_cast<unsigned char>(byte)] & classes) != 0;
}

/// Value of a hexadecimal digit.
inline unsigned hex_value(char digit) {
  return digit <= '9' ? static_cast<unsigned>(digit - '0') : static_cast<unsigned>((digit | 0x20) - 'a') + 10;
}

inline bool is_digit(char byte) {
  return byte >= '0' && byte <= '9';
}

/// `text` without spaces and tabs at its ends (RFC 9110, 5.6.3).
inline std::string_view without_spaces_around(std::string_view text) {
  constexpr std::string_view kSpaces = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(kSpaces), text.size()));
  return text.substr(0, text.find_last_not_of(kSpaces) + 1);
}

/// Compares a token with a name in lower-case letters and '-', ignoring the case of letters. Setting bit 0x20
/// of a byte of a token gives no such letter and no '-' unless the byte is one.
template <std::size_t kSize>
bool is_name(std::string_view token, const char (&lower)[kSize]) {
  if (token.size() != kSize - 1) return false;
  unsigned different = 0;
  for (std::size_t at = 0; at < kSize - 1; ++at) {
    different |= static_cast<unsigned char>(token[at] | 0x20) ^ static_cast<unsigned char>(lower[at]);
  }
  return different == 0;
}

/// First control byte in [at, end), a tab included, or `end`. Looks at eight bytes at a time.
inline const char* find_control(const char* at, const char* end) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  constexpr std::uint64_t kHighs = 0x8080808080808080;
  for (; end - at >= 8; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, at, 8);
    // The high bit of each byte under 0x20, and of each byte that is 0x7f. A borrow can mark a byte above a
    // marked one wrongly, never the lowest marked one.
    const std::uint64_t low = (word - kOnes * 0x20) & ~word;
    const std::uint64_t other = word ^ (kOnes * 0x7f);
    const std::uint64_t del = (other - kOnes) & ~other;
    const std::uint64_t marks = (low | del) & kHighs;
    if (marks != 0) return at + std::countr_zero(marks) / 8;
  }
  for (; at < end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte < 0x20 || byte == 0x7f) return at;
  }
  return end;
}

}  // namespace weft::detail::http
