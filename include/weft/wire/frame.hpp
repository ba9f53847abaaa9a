// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/base/bytes.hpp"
#include "weft/base/result.hpp"

namespace weft::wire {

/// What a frame is. The numbers are the ones on the wire (docs/internals/wire.md).
enum class FrameType : std::uint8_t {
  kRequest = 1,
  kResponse = 2,
  kCancel = 3,
  kPing = 4,
  kPong = 5,
  kGoaway = 6,
};

/// Bits of FrameHeader::flags. A bit that is not named here must be zero.
struct FrameFlags {
  /// An attachment of FrameHeader::extra bytes follows the body.
  static constexpr std::uint8_t kAttachment = 0x01;
  /// A request: the remaining time is in units of a second instead of a microsecond.
  static constexpr std::uint8_t kTimeoutInSeconds = 0x02;
  /// A request: the caller wants no answer bytes copied; it named a buffer for the attachment of the answer.
  static constexpr std::uint8_t kLandingNamed = 0x04;
  static constexpr std::uint8_t kAll = 0x07;
};

/// The head of every frame, as it lies on the wire, little-endian:
///
///      0        1        2        3        4        5        6        7
///  0 | body_bytes                        | type   | flags  | status          |
///  8 | id: slot (low 32 bits), generation (high 32 bits)                     |
/// 16 | method (request) / native code (response)                             |
/// 24 | timeout (request)                 | schema (request)                  |
/// 32 | attachment_bytes                                                      |
/// 40
///
/// then body_bytes of body, padding with zeros to a multiple of 8, four bytes of CRC32C and four of zero when the
/// hello agreed on checksums, then attachment_bytes of attachment without padding rule of its own (padded to 8 too).
struct FrameHeader {
  std::uint32_t body_bytes = 0;
  FrameType type{};
  std::uint8_t flags = 0;
  /// Response: a StatusCode in the low byte, the Layer that said so in the high byte. Otherwise 0.
  std::uint16_t status = 0;
  std::uint64_t id = 0;
  std::uint64_t method = 0;
  /// Request: remaining time, 0 = no deadline. Goaway and others: 0.
  std::uint32_t timeout = 0;
  /// Request: 32 bits of the schema of arguments and result; the server refuses a call whose schema is another.
  std::uint32_t schema = 0;
  std::uint64_t attachment_bytes = 0;
};

inline constexpr std::size_t kHeaderBytes = 40;
static_assert(sizeof(FrameHeader) == kHeaderBytes);

/// Bytes from the header's start to the attachment's: header, body, padding, checksum.
constexpr std::uint64_t head_bytes(std::uint32_t body_bytes, bool checksum) {
  return kHeaderBytes + ((std::uint64_t{body_bytes} + 7) & ~std::uint64_t{7}) + (checksum ? 8 : 0);
}
/// Bytes that the attachment takes with its padding.
constexpr std::uint64_t padded_attachment(std::uint64_t attachment_bytes) {
  return (attachment_bytes + 7) & ~std::uint64_t{7};
}

/// What the receiver accepts; from its own options, not from the peer.
struct FrameLimits {
  std::uint32_t body_bytes_max = 4u << 20;
  std::uint64_t attachment_bytes_max = std::uint64_t{1} << 40;
};

/// Why a header was refused; also the index of the counter that names it.
enum class FrameFault : std::uint8_t {
  kNone,
  kUnknownType,
  kUnknownFlags,
  kBodyTooLarge,
  kAttachmentTooLarge,
  kUnexpectedField,
  kChecksum,
  kPadding,
  kCount,
};
std::string_view to_string(FrameFault fault);

/// Checks a header against `limits` before anything is allocated for it. Does no I/O, never fails to answer.
FrameFault check_header(const FrameHeader& header, const FrameLimits& limits) noexcept;

/// The failure that ends a connection whose peer sent such a frame.
Status fault_status(FrameFault fault, const FrameHeader& header, const FrameLimits& limits);

inline FrameHeader load_header(const std::byte* from) {
  FrameHeader header;
  std::memcpy(&header, from, sizeof header);
  return header;
}
inline void store_header(std::byte* to, const FrameHeader& header) { std::memcpy(to, &header, sizeof header); }

/// Writes the padding, and the checksum of header and body when `checksum`, of a frame of which header and body
/// lie at `frame`. There must be room for head_bytes().
void finish_frame(std::byte* frame, std::uint32_t body_bytes, bool checksum) noexcept;

/// True when the checksum behind the body is right. `frame` holds head_bytes(..., true).
bool checksum_matches(const std::byte* frame, std::uint32_t body_bytes) noexcept;

constexpr std::uint64_t make_id(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | slot;
}
constexpr std::uint32_t slot_of(std::uint64_t id) { return static_cast<std::uint32_t>(id); }
constexpr std::uint32_t generation_of(std::uint64_t id) { return static_cast<std::uint32_t>(id >> 32); }

}  // namespace weft::wire
