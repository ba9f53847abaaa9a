// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "weft/base/bytes.hpp"

namespace weft::ucx_path {

/// What an active message between two ends of a path is.
enum class MessageKind : std::uint8_t {
  kProbe = 1,     ///< the first one: this end can be heard
  kBytes = 2,     ///< the next bytes of the connection
  kPiece = 3,     ///< the next bytes too, by rendezvous: part of an attachment, after kAsk was answered
  kAsk = 4,       ///< an attachment's bytes wait to be taken by rendezvous
  kGrant = 5,     ///< there is a place for them
  kCredit = 6,    ///< only to say what was received
  kEnd = 7,       ///< no more bytes come
  kEndTaken = 8,  ///< the end was received, and so everything before it
};

/// The header of every active message, little-endian:
///
///      0        1        2        3        4        5        6        7
///  0 | version| kind   | zero            | slot                              |
///  8 | key                               | sequence                          |
/// 16 | received                          | zero                              |
/// 24
///
/// `slot` and `key` name the receiving end, as its address did. `sequence` counts the messages of one end
/// from 0 on: UCX with several rails may deliver them in another order. `received` is how much of what the
/// other end sent was received, by its own count, modulo 2^32: the rest is what may still be on its way.
struct MessageHeader {
  MessageKind kind{};
  std::uint32_t slot = 0;
  std::uint32_t key = 0;
  std::uint32_t sequence = 0;
  std::uint32_t received = 0;
};

/// The id of all of them; nobody else uses our workers.
inline constexpr unsigned kMessageId = 0;
inline constexpr std::size_t kMessageHeaderBytes = 24;
inline constexpr std::uint8_t kMessageVersion = 1;

inline void store_message_header(std::byte* to, const MessageHeader& header) noexcept {
  store_le<std::uint64_t>(to, std::uint64_t{kMessageVersion} |
                                  std::uint64_t{static_cast<std::uint8_t>(header.kind)} << 8 |
                                  std::uint64_t{header.slot} << 32);
  store_le<std::uint64_t>(to + 8, std::uint64_t{header.key} | std::uint64_t{header.sequence} << 32);
  store_le<std::uint64_t>(to + 16, header.received);
}

/// Nothing when it is no header of this version.
inline std::optional<MessageHeader> load_message_header(Bytes from) noexcept {
  if (from.size() != kMessageHeaderBytes) return std::nullopt;
  const auto first = load_le<std::uint64_t>(from.data());
  const auto last = load_le<std::uint64_t>(from.data() + 16);
  const auto kind = static_cast<std::uint8_t>(first >> 8);
  const bool right = (first & 0xFF) == kMessageVersion && (first >> 16 & 0xFFFF) == 0 && last >> 32 == 0 &&
                     kind >= static_cast<unsigned>(MessageKind::kProbe) &&
                     kind <= static_cast<unsigned>(MessageKind::kEndTaken);
  if (!right) return std::nullopt;
  const auto middle = load_le<std::uint64_t>(from.data() + 8);
  return MessageHeader{static_cast<MessageKind>(kind), static_cast<std::uint32_t>(first >> 32),
                       static_cast<std::uint32_t>(middle), static_cast<std::uint32_t>(middle >> 32),
                       static_cast<std::uint32_t>(last)};
}

}  // namespace weft::ucx_path
