// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// Kinds of the messages in which a connection's bytes travel over a fabric with message boundaries (UCX,
/// RDMA). The waiting message with the lowest number goes first: the end of sending goes last. kAgain does
/// not wait: its position marks where its bytes begin.
enum class MessageKind : std::uint8_t {
  kProbe = 1,     ///< the first one: this end can be heard
  kBytes = 2,     ///< the next bytes of the connection
  kPart = 3,      ///< the next bytes too, by rendezvous: a part of an attachment that was asked for (UCX)
  kOffer = 4,     ///< the same, followed by bytes that the receiver fetches from the sender's memory (RDMA)
  kEndTaken = 5,  ///< the end was received, and so everything before it
  kFetched = 6,   ///< the first `value` bytes of the offers were fetched
  kDecline = 7,   ///< the last `value` bytes of the offers will not be fetched; see kAgain
  kPlace = 8,     ///< there is a place for what the next `value` asks were about
  kWithdraw = 9,  ///< asks for an answer to all offers, soon
  kAsk = 10,      ///< an attachment's bytes wait to be taken by rendezvous
  kCredit = 11,   ///< only to say what may be sent
  kReclaim = 12,  ///< asks for credit that is not needed
  kReturn = 13,   ///< gives `value` of credit back
  kEnd = 14,      ///< no more bytes come
  kAgain = 15     ///< all is answered: the bytes from the first on that was declined come again (RDMA)
};
inline constexpr MessageKind kLastMessageKind = MessageKind::kAgain;

/// Its place in a set of kinds.
constexpr std::uint32_t bit_of(MessageKind kind) {
  return 1u << static_cast<unsigned>(kind);
}
constexpr bool has_content(MessageKind kind) {
  return kind >= MessageKind::kBytes && kind <= MessageKind::kOffer;
}
/// True if the message may contain bytes of the connection; a sender of answers may also report fetched bytes
/// in it.
constexpr bool has_bytes(MessageKind kind) {
  return kind == MessageKind::kBytes || kind == MessageKind::kOffer;
}
constexpr bool has_value(MessageKind kind) {
  return (kind >= MessageKind::kFetched && kind <= MessageKind::kPlace) || kind == MessageKind::kReturn;
}
/// The peer waits for it, and may be waiting before it reads anything else.
constexpr bool is_answer(MessageKind kind) {
  return kind >= MessageKind::kEndTaken && kind <= MessageKind::kWithdraw;
}
/// It has a place among the bytes of the connection, and none behind their end.
constexpr bool comes_before_end(MessageKind kind) {
  return has_content(kind) || kind == MessageKind::kAsk || kind >= MessageKind::kEnd;
}

/// The head of every message, little-endian:
///
///      0        1        2        3        4        5        6        7
///  0 | version| kind   | runs   | zero   | granted                           |
///  8 | value                             | sequence                          |
/// 16
///
/// `granted` is the total that the receiver of this message may have sent, modulo 2^32: its credit is the
/// difference to the total that it has sent. `sequence` counts the messages of one end from 0. `runs` is the
/// number of memory runs that an offer names, at the end of its content; the content before them is data.
struct MessageHeader {
  MessageKind kind{};
  std::uint32_t granted = 0;
  std::uint32_t value = 0;
  std::uint32_t sequence = 0;
  std::uint8_t runs = 0;
};

inline constexpr std::size_t kMessageHeaderBytes = 16;
inline constexpr std::uint8_t kMessageVersion = 6;

inline void store_message_header(std::byte* to, const MessageHeader& header) noexcept {
  store_le<std::uint64_t>(to, std::uint64_t{kMessageVersion} |
                                  std::uint64_t{static_cast<std::uint8_t>(header.kind)} << 8 |
                                  std::uint64_t{header.runs} << 16 | std::uint64_t{header.granted} << 32);
  store_le<std::uint64_t>(to + 8, std::uint64_t{header.value} | std::uint64_t{header.sequence} << 32);
}

/// Nothing when `message` does not begin with a header of this version.
inline std::optional<MessageHeader> load_message_header(Bytes message) noexcept {
  if (message.size() < kMessageHeaderBytes) return std::nullopt;
  const auto first = load_le<std::uint64_t>(message.data());
  const auto last = load_le<std::uint64_t>(message.data() + 8);
  const auto kind = static_cast<std::uint8_t>(first >> 8);
  const bool right = (first & 0xFF) == kMessageVersion && (first >> 24 & 0xFF) == 0 &&
                     kind >= static_cast<unsigned>(MessageKind::kProbe) &&
                     kind <= static_cast<unsigned>(kLastMessageKind);
  if (!right) return std::nullopt;
  return MessageHeader{static_cast<MessageKind>(kind), static_cast<std::uint32_t>(first >> 32),
                       static_cast<std::uint32_t>(last), static_cast<std::uint32_t>(last >> 32),
                       static_cast<std::uint8_t>(first >> 16)};
}

}  // namespace weft::detail
