// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::detail::wire {

/// Type of a frame. The numbers are the ones on the wire (docs/internals/wire.md).
enum class FrameType : std::uint8_t {
  kRequest = 1,
  kAnswer = 2,
  kCancel = 3,
  kPing = 4,
  kPong = 5,
  kGoaway = 6,
  /// Sent only between the hello and the first other frame: see wire/carrier.hpp.
  kCarrier = 7,
  /// A part of an attachment, behind the frame that announced it: see FrameFlags::kInPieces.
  kPiece = 8,
  /// The receiver of a request asks for its attachment: see FrameFlags::kExpectsContinue.
  kContinue = 9,
  /// An item of a stream, or the end of one side's items: see FrameFlags::kLastItem.
  kItem = 10,
  /// The receiver of a stream's items takes more of them.
  kCredit = 11,
  /// First of the types that a receiver may drop: a later build may send some that this one does not know,
  /// and they are read, held to the limits, dropped and counted.
  kSkippable = 0x80,
  /// A caller wants the attachment of its answer no faster than so. A build of before drops it.
  kRate = 0x81,
  /// Metadata of the answer to a request, in front of that answer. Sent where the hello agreed on it.
  kAnswerMetadata = 0x82,
};
/// True for a type that a receiver who does not know it drops.
constexpr bool is_skippable(FrameType type) {
  return static_cast<std::uint8_t>(type) >= static_cast<std::uint8_t>(FrameType::kSkippable);
}
std::string_view to_string(FrameType type);

/// Bits of FrameHeader::flags. Of the bits that are not named here those of kOptional are ignored, and the
/// others must be zero.
struct FrameFlags {
  /// A request, answer or item: it has an attachment of FrameHeader::attachment_bytes. Set exactly when that
  /// length is not 0: an empty attachment is none.
  static constexpr std::uint8_t kAttachment = 0x01;
  /// A request: the remaining time is in units of a second instead of a microsecond.
  static constexpr std::uint8_t kTimeoutInSeconds = 0x02;
  /// A request: the caller wants no answer bytes copied; it named a buffer for the attachment of the answer.
  static constexpr std::uint8_t kLandingNamed = 0x04;
  /// A request, an answer, or always an item that has one: the attachment does not follow the body but comes
  /// in frames of type kPiece, between which others may come.
  static constexpr std::uint8_t kInPieces = 0x08;
  static constexpr std::uint8_t kAll = 0x0F;
  /// A request whose attachment comes in pieces: they come when the receiver has asked for them by a
  /// kContinue, which both hellos have to support.
  static constexpr std::uint8_t kExpectsContinue = 0x10;
  /// An answer that is a failure: the call was refused before its handler ran.
  static constexpr std::uint8_t kUnprocessed = 0x10;
  /// A piece: it belongs to an answer's attachment, not to a request's; for an item's piece, an item or a
  /// credit: its sender answers the stream's request, rather than having sent it.
  static constexpr std::uint8_t kOfAnswer = 0x02;
  /// A piece: the last one of its attachment.
  static constexpr std::uint8_t kLastPiece = 0x04;
  /// An item: it is none, but says that its sender sends no more of them on this stream.
  static constexpr std::uint8_t kLastItem = 0x04;
  /// Bits that a later build may set on any frame: their meaning may be ignored.
  static constexpr std::uint8_t kOptional = 0xF0;
  /// The bits that a frame of each type may have.
  static constexpr std::uint8_t kOfType[] = {0,
                                             kAll,
                                             kAttachment | kInPieces,
                                             0,
                                             0,
                                             0,
                                             0,
                                             0,
                                             kAttachment | kOfAnswer | kLastPiece,
                                             0,
                                             kAttachment | kInPieces | kOfAnswer | kLastItem,
                                             kOfAnswer};
};

/// The head of every frame, as it lies on the wire, little-endian:
///
///      0        1        2        3        4        5        6        7
///  0 | body_bytes                        | type   | flags  | typed16         |
///  8 | id: slot (low 32 bits), generation (high 32 bits)                     |
/// 16 | typed64                                                               |
/// 24 | timeout (request)                 | schema, or details of an answer    |
/// 32 | attachment_bytes                                                      |
/// 40
///
/// typed16 and typed64 mean what wire/heads.hpp says for each type, such as the bytes of metadata and the
/// method of a request. Behind the header come body_bytes of body, padded with zeros to a multiple of 8; when
/// the hello agreed on checksums, four bytes of CRC32C over header and body and four of zero; then
/// attachment_bytes of attachment, padded with zeros to a multiple of 8; when there is an attachment and
/// checksums, its CRC32C and four of zero. So every part of every frame begins at a multiple of 8 from the
/// end of the hello.
struct FrameHeader {
  std::uint32_t body_bytes = 0;
  FrameType type{};
  std::uint8_t flags = 0;
  /// Field of requests, answers and pieces, which is what wire/heads.hpp says. Otherwise 0.
  std::uint16_t typed16 = 0;
  /// Request: chosen by the caller. Answer, its metadata, cancel, piece, continue, item, credit, rate: the
  /// request's.
  /// Pong: the ping's. Goaway and carrier: kNoId.
  std::uint64_t id = 0;
  std::uint64_t typed64 = 0;
  /// Request: remaining time, 0 = no deadline. Otherwise 0.
  std::uint32_t timeout = 0;
  /// Request: 32 bits of the schema of arguments and result; the server refuses a call whose schema is
  /// another. Answer that is a failure: bytes of its details. Otherwise 0.
  std::uint32_t schema = 0;
  /// 0 exactly when FrameFlags::kAttachment is not set.
  std::uint64_t attachment_bytes = 0;

  /// Bytes of an attachment that follow the body in the byte stream.
  constexpr std::uint64_t following_bytes() const noexcept;
};

constexpr std::uint64_t FrameHeader::following_bytes() const noexcept {
  return (flags & FrameFlags::kInPieces) != 0 ? 0 : attachment_bytes;
}

inline constexpr std::size_t kHeaderBytes = 40;
static_assert(sizeof(FrameHeader) == kHeaderBytes);

/// Largest size in bytes of the metadata that a request may carry beside its arguments; and of the initial
/// and of the trailing metadata of its answer.
inline constexpr std::size_t kMetadataBytesMax = 8 * 1024;

/// The id of a frame that is about no call.
inline constexpr std::uint64_t kNoId = 0;

/// `bytes` and the zeros behind it.
constexpr std::uint64_t padded(std::uint64_t bytes) {
  return (bytes + 7) & ~std::uint64_t{7};
}

/// Bytes from the header's start to the attachment's: header, body, padding, checksum.
constexpr std::uint64_t head_bytes(std::uint32_t body_bytes, bool checksum) {
  return kHeaderBytes + padded(body_bytes) + (checksum ? 8 : 0);
}

/// Limits of the frames that the receiver accepts; they come from its own options, not from the peer.
struct FrameLimits {
  std::uint32_t body_bytes_max = 4u << 20;
  std::uint64_t attachment_bytes_max = std::uint64_t{1} << 40;
};

/// Reason for which a frame was refused; also the index of the counter that names it.
enum class FrameFault : std::uint8_t {
  kNone,
  kUnknownType,
  kUnknownFlags,
  kBodyTooLarge,
  kAttachmentTooLarge,
  kUnexpectedField,
  kChecksum,
  kPadding,
  kMetadataTooLarge,
  kMisplacedPiece,
  kMisplacedItem,
  kCount,
};
std::string_view to_string(FrameFault fault);

/// Checks a header against `limits` before anything is allocated for it. Does no I/O, never fails to answer.
inline FrameFault check_header(const FrameHeader& header, const FrameLimits& limits) noexcept;

/// The rest of check_header(): for all frames but plain requests, plain successes and plain items.
FrameFault check_header_slow_path(const FrameHeader& header, const FrameLimits& limits) noexcept;

/// The failure that ends a connection whose peer sent such a frame. `fault` is not kNone.
Status fault_status(FrameFault fault, const FrameHeader& header, const FrameLimits& limits);

inline FrameHeader load_header(const std::byte* from) {
  FrameHeader header;
  std::memcpy(&header, from, sizeof header);
  return header;
}
/// Writes whole words, because a header that was put together byte by byte is slow to load at once.
inline void store_header(std::byte* to, const FrameHeader& header) {
  store_le<std::uint64_t>(to, std::uint64_t{header.body_bytes} |
                                  std::uint64_t{static_cast<std::uint8_t>(header.type)} << 32 |
                                  std::uint64_t{header.flags} << 40 | std::uint64_t{header.typed16} << 48);
  store_le<std::uint64_t>(to + 8, header.id);
  store_le<std::uint64_t>(to + 16, header.typed64);
  store_le<std::uint64_t>(to + 24, std::uint64_t{header.timeout} | std::uint64_t{header.schema} << 32);
  store_le<std::uint64_t>(to + 32, header.attachment_bytes);
}

/// Writes the padding of the frame with header and body at `frame`, and with `checksum` the checksum of both.
/// There must be room for head_bytes().
void finish_frame(std::byte* frame, std::uint32_t body_bytes, bool checksum) noexcept;

/// True when the checksum behind the body is right. `frame` holds head_bytes(..., true).
bool checksum_matches(const std::byte* frame, std::uint32_t body_bytes) noexcept;

/// True when the bytes from `used` to the next multiple of 8 are zero. `from` is readable up to there.
inline bool padding_is_zero(const std::byte* from, std::uint64_t used) noexcept {
  const std::uint64_t in_last_word = used & 7;
  if (in_last_word == 0) return true;
  return load_le<std::uint64_t>(from + (used - in_last_word)) >> (8 * in_last_word) == 0;
}

constexpr std::uint64_t make_id(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | slot;
}
constexpr std::uint32_t slot_of(std::uint64_t id) {
  return static_cast<std::uint32_t>(id);
}
constexpr std::uint32_t generation_of(std::uint64_t id) {
  return static_cast<std::uint32_t>(id >> 32);
}

inline FrameFault check_header(const FrameHeader& header, const FrameLimits& limits) noexcept {
  const bool plain = (header.flags | header.typed16) == 0 && header.attachment_bytes == 0 &&
                     header.body_bytes <= limits.body_bytes_max;
  const bool request = header.type == FrameType::kRequest;
  const bool success = header.type == FrameType::kAnswer && (header.timeout | header.schema) == 0;
  if (plain && (request || success)) [[likely]] {
    return FrameFault::kNone;
  }
  const unsigned unused =
      (header.flags & ~FrameFlags::kOfAnswer) | header.typed16 | header.timeout | header.schema;
  if (header.type == FrameType::kItem && (unused | header.typed64 | header.attachment_bytes) == 0 &&
      header.body_bytes <= limits.body_bytes_max) {
    return FrameFault::kNone;
  }
  return check_header_slow_path(header, limits);
}

}  // namespace weft::detail::wire
