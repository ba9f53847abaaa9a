// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "weft/detail/codec/codec.hpp"

namespace weft::testing {

using namespace weft::detail;

/// The message made of `values`. A vector's memory is aligned for every type, as messages are.
template <typename... Ts>
[[gnu::noinline]] std::vector<std::byte> encoded(const Ts&... values) {
  std::vector<std::byte> message(encoded_size(values...), std::byte{0xEE});
  encode_to(message.data(), message.size(), values...);
  return message;
}

/// `bytes` in hexadecimal, as "01 02 ff".
inline std::string hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    const auto number = std::to_integer<unsigned>(byte);
    if (!text.empty()) text += ' ';
    text += "0123456789abcdef"[number / 16];
    text += "0123456789abcdef"[number % 16];
  }
  return text;
}

template <typename... Ts>
std::string encoded_hex(const Ts&... values) {
  return hex(encoded(values...));
}

/// The bytes that `text` names, the reverse of hex().
inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 3) {
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string{text.substr(i, 2)}, nullptr, 16)));
  }
  return bytes;
}

/// Decodes all of `message` and gives what was wrong, ok for nothing. The bytes lie in memory of exactly
/// their size, so that a sanitizer sees each read beyond them.
template <typename... Ts>
Status decode_status(Bytes message) {
  const auto exact = std::make_unique<std::byte[]>(message.size());
  if (!message.empty()) std::memcpy(exact.get(), message.data(), message.size());
  DecodeArena arena;
  std::tuple<Ts...> out;
  return std::apply(
             [&](auto&... values) { return decode_from({exact.get(), message.size()}, arena, values...); },
             out)
      .status();
}

}  // namespace weft::testing
