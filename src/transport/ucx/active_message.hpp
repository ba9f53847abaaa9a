// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "transport/message_header.hpp"

namespace weft::detail::ucx_carrier {

/// The header of every active message, little-endian:
///
///      0        1        2        3        4        5        6        7
///  0 | the head of the message (message_header.hpp)                          |
/// 16 | slot                              | key                               |
/// 24
///
/// `slot` and `key` name the receiving end, as its address did.
struct ActiveMessageHeader {
  MessageHeader message;
  std::uint32_t slot = 0;
  std::uint32_t key = 0;
};

/// The id of all messages; our workers have no other users.
inline constexpr unsigned kActiveMessageId = 0;
inline constexpr std::size_t kActiveMessageHeaderBytes = kMessageHeaderBytes + 8;

inline void store_active_message_header(std::byte* to, const ActiveMessageHeader& header) noexcept {
  store_message_header(to, header.message);
  store_le(to + kMessageHeaderBytes, header.slot);
  store_le(to + kMessageHeaderBytes + 4, header.key);
}

/// Nothing when it is no header of this version.
inline std::optional<ActiveMessageHeader> load_active_message_header(Bytes from) noexcept {
  if (from.size() != kActiveMessageHeaderBytes) return std::nullopt;
  const auto message = load_message_header(from);
  if (!message) return std::nullopt;
  const std::byte* const place = from.data() + kMessageHeaderBytes;
  return ActiveMessageHeader{*message, load_le<std::uint32_t>(place), load_le<std::uint32_t>(place + 4)};
}

}  // namespace weft::detail::ucx_carrier
