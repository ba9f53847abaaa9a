// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>

#include "weft/base/bytes.hpp"

namespace weft::verbs_path {

/// What a message between two ends of a path is.
enum class MessageKind : std::uint8_t {
  kProbe = 1,     ///< the first one: this end can be heard
  kBytes = 2,     ///< the next bytes of the connection
  kCredit = 3,    ///< only to say what may be sent
  kReclaim = 4,   ///< asks for credits that are not needed
  kReturn = 5,    ///< gives `value` credits back
  kEnd = 6,       ///< no more bytes come
  kEndTaken = 7,  ///< the end was received, and so everything before it
  kOffer = 8,     ///< the next bytes of the connection, to be fetched from where they lie
  kFetched = 9,   ///< the first `value` bytes of what is offered were fetched
  kDecline = 10,  ///< the last `value` bytes of what is offered will not be fetched: send them
  kWithdraw = 11  ///< asks for an answer to all that is offered, soon
};
inline constexpr MessageKind kLastKind = MessageKind::kWithdraw;

constexpr bool has_content(MessageKind kind) {
  return kind == MessageKind::kBytes || kind == MessageKind::kOffer;
}
constexpr bool has_value(MessageKind kind) {
  return kind == MessageKind::kReturn || kind == MessageKind::kFetched || kind == MessageKind::kDecline;
}

/// Its place in a set of kinds.
constexpr unsigned bit_of(MessageKind kind) {
  return 1u << static_cast<unsigned>(kind);
}

/// What the peer waits for, and may be waiting for before it reads anything else.
constexpr bool is_answer(MessageKind kind) {
  return kind == MessageKind::kEndTaken || kind == MessageKind::kFetched || kind == MessageKind::kDecline ||
         kind == MessageKind::kWithdraw;
}

/// The head of every message, little-endian:
///
///      0        1        2        3        4        5        6        7
///  0 | version| kind   | zero            | granted                           |
///  8 | value                             | zero                              |
/// 16 | the bytes, to the end of the message; of an offer, verbs::RemoteMemory |
///
/// `granted` is how many messages the receiver of this one may have sent altogether, modulo 2^32: its credit
/// is the difference to what it has sent. Nothing is sent without credit, so that there is a receive for all.
struct MessageHeader {
  MessageKind kind{};
  std::uint32_t granted = 0;
  std::uint32_t value = 0;
};

inline constexpr std::size_t kMessageHeaderBytes = 16;
inline constexpr std::uint8_t kMessageVersion = 2;

inline void store_message_header(std::byte* to, const MessageHeader& header) noexcept {
  store_le<std::uint64_t>(to, std::uint64_t{kMessageVersion} |
                                  std::uint64_t{static_cast<std::uint8_t>(header.kind)} << 8 |
                                  std::uint64_t{header.granted} << 32);
  store_le<std::uint64_t>(to + 8, header.value);
}

/// Nothing when `message` does not begin with a header of this version.
inline std::optional<MessageHeader> load_message_header(Bytes message) noexcept {
  if (message.size() < kMessageHeaderBytes) return std::nullopt;
  const auto first = load_le<std::uint64_t>(message.data());
  const auto last = load_le<std::uint64_t>(message.data() + 8);
  const auto kind = static_cast<std::uint8_t>(first >> 8);
  const bool right = (first & 0xFF) == kMessageVersion && (first >> 16 & 0xFFFF) == 0 && last >> 32 == 0 &&
                     kind >= static_cast<unsigned>(MessageKind::kProbe) &&
                     kind <= static_cast<unsigned>(kLastKind);
  if (!right) return std::nullopt;
  return MessageHeader{static_cast<MessageKind>(kind), static_cast<std::uint32_t>(first >> 32),
                       static_cast<std::uint32_t>(last)};
}

}  // namespace weft::verbs_path
