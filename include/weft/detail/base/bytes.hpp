// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>

namespace weft {

/// A view of bytes; owns nothing.
using Bytes = std::span<const std::byte>;
/// A view of bytes that may be written; owns nothing.
using MutableBytes = std::span<std::byte>;

/// The bytes of `text`, valid as long as `text` is.
inline Bytes as_bytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

/// Says how one comes by the bytes of anything else.
template <typename Given>
  requires(!std::is_convertible_v<Given, std::string_view>)
Bytes as_bytes(Given&& is_no_text_so_use_std_as_bytes_of_a_std_span) = delete;

/// `bytes` as text, valid as long as `bytes` is.
inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "Weft's formats are little-endian, and so is every machine it runs on");

namespace detail {

/// Reads a little-endian number from memory of any alignment.
template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
T load_le(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Writes a little-endian number to memory of any alignment.
template <typename T>
  requires std::is_arithmetic_v<T> || std::is_enum_v<T>
void store_le(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// Size of a value that must not be sent at all: nested too deep, with too many elements, or a variant
/// without a value. Larger than every limit.
inline constexpr std::size_t kUnencodable = static_cast<std::size_t>(-1);

}  // namespace detail

}  // namespace weft
