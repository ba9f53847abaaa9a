// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/base/base64.hpp"

#include <array>
#include <cstdint>

namespace weft::detail {

namespace {

constexpr std::string_view kBase64Digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
/// More than six bits, so that one test finds it among several digits.
constexpr std::uint8_t kNoBase64Digit = 0x80;
constexpr std::array<std::uint8_t, 256> kBase64Values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoBase64Digit);
  for (std::size_t i = 0; i < kBase64Digits.size(); ++i) {
    values[static_cast<unsigned char>(kBase64Digits[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}();

std::uint32_t byte_at(Bytes bytes, std::size_t at) {
  return at < bytes.size() ? std::to_integer<std::uint32_t>(bytes[at]) : 0;
}
std::uint32_t value_at(std::string_view text, std::size_t at) {
  return kBase64Values[static_cast<unsigned char>(text[at])];
}

}  // namespace

void append_base64(std::string& text, Bytes bytes) {
  std::size_t to = text.size();
  text.resize(to + (bytes.size() + 2) / 3 * 4, '=');
  for (std::size_t at = 0; at < bytes.size(); at += 3, to += 4) {
    const std::uint32_t bits =
        byte_at(bytes, at) << 16 | byte_at(bytes, at + 1) << 8 | byte_at(bytes, at + 2);
    const std::size_t digits = bytes.size() - at < 3 ? bytes.size() - at + 1 : 4;
    for (std::size_t i = 0; i < digits; ++i) text[to + i] = kBase64Digits[bits >> (18 - 6 * i) & 63];
  }
}

std::optional<std::size_t> base64_decoded_size(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  return text.size() / 4 * 3 - padding;
}

bool decode_base64(std::string_view text, std::byte* out) {
  while (text.size() > 4 || (text.size() == 4 && text[3] != '=')) {
    const std::uint32_t a = value_at(text, 0);
    const std::uint32_t b = value_at(text, 1);
    const std::uint32_t c = value_at(text, 2);
    const std::uint32_t d = value_at(text, 3);
    if (((a | b | c | d) & kNoBase64Digit) != 0) return false;
    const std::uint32_t bits = a << 18 | b << 12 | c << 6 | d;
    *out++ = static_cast<std::byte>(bits >> 16);
    *out++ = static_cast<std::byte>(bits >> 8);
    *out++ = static_cast<std::byte>(bits);
    text.remove_prefix(4);
  }
  if (text.empty()) return true;
  const bool two = text[2] != '=';
  const std::uint32_t a = value_at(text, 0);
  const std::uint32_t b = value_at(text, 1);
  const std::uint32_t c = two ? value_at(text, 2) : 0;
  if (((a | b | c) & kNoBase64Digit) != 0 || (two ? c & 3 : b & 15) != 0) return false;
  const std::uint32_t bits = a << 18 | b << 12 | c << 6;
  *out++ = static_cast<std::byte>(bits >> 16);
  if (two) *out = static_cast<std::byte>(bits >> 8);
  return true;
}

}  // namespace weft::detail
