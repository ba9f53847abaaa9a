// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/wire/frame.hpp"

#include <iterator>
#include <string>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/wire/carrier.hpp"
#include "weft/detail/wire/crc32c.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail::wire {

std::string_view to_string(FrameType type) {
  static constexpr std::string_view kNames[] = {"?",      "request", "answer", "cancel",   "ping", "pong",
                                                "goaway", "carrier", "piece",  "continue", "item", "credit"};
  const auto index = static_cast<unsigned>(type);
  if (type == FrameType::kRate) return "rate";
  if (type == FrameType::kAnswerMetadata) return "metadata of an answer";
  if (is_skippable(type)) return "skippable frame";
  return index < std::size(kNames) ? kNames[index] : "?";
}

std::string_view to_string(FrameFault fault) {
  static constexpr std::string_view kNames[] = {
      "none",
      "unknown frame type",
      "unknown or misplaced flags",
      "body too large",
      "attachment too large",
      "unexpected field",
      "wrong checksum",
      "padding is not zero",
      "metadata or details too large",
      "a piece of an attachment that does not come next",
      "an item or a credit that its stream does not allow",
  };
  static_assert(std::size(kNames) == static_cast<std::size_t>(FrameFault::kCount));
  const auto index = static_cast<unsigned>(fault);
  return index < std::size(kNames) ? kNames[index] : "?";
}

namespace {

// Tells whether it is the common frame with an attachment: a request without metadata, or a success. The
// caller has compared its lengths with the limits.
bool is_plainly_attached(const FrameHeader& header) noexcept {
  if (header.typed16 != 0) return false;
  if (header.type == FrameType::kRequest) {
    return (header.flags & ~FrameFlags::kLandingNamed) == FrameFlags::kAttachment;
  }
  return header.type == FrameType::kAnswer && header.flags == FrameFlags::kAttachment &&
         (header.timeout | header.schema) == 0;
}

}  // namespace

FrameFault check_header_slow_path(const FrameHeader& header, const FrameLimits& limits) noexcept {
  if (header.attachment_bytes != 0 && header.attachment_bytes <= limits.attachment_bytes_max &&
      header.body_bytes <= limits.body_bytes_max && is_plainly_attached(header)) {
    return FrameFault::kNone;
  }
  const auto type = static_cast<unsigned>(header.type);
  const bool skippable = is_skippable(header.type);
  if (type - 1 > 10 && !skippable) return FrameFault::kUnknownType;
  const unsigned known = skippable ? FrameFlags::kAttachment : FrameFlags::kOfType[type];
  if ((header.flags & ~(known | FrameFlags::kOptional)) != 0) return FrameFault::kUnknownFlags;
  // Carrier frames must pass regardless of the limits for calls.
  const bool carrier = header.type == FrameType::kCarrier && header.body_bytes <= kCarrierBodyMax;
  if (header.body_bytes > limits.body_bytes_max && !carrier) return FrameFault::kBodyTooLarge;
  if (header.attachment_bytes > limits.attachment_bytes_max) return FrameFault::kAttachmentTooLarge;
  if (((header.flags & FrameFlags::kAttachment) != 0) != (header.attachment_bytes != 0)) {
    return FrameFault::kUnexpectedField;
  }
  if ((header.flags & FrameFlags::kAttachment) == 0 && (header.flags & known & FrameFlags::kInPieces) != 0) {
    return FrameFault::kUnknownFlags;
  }
  if (skippable) return FrameFault::kNone;
  bool plausible = true;
  if (header.type == FrameType::kRequest) {
    const RequestView request{header};
    if (request.metadata_bytes() > kMetadataBytesMax || request.padded_metadata_bytes() > header.body_bytes) {
      return FrameFault::kMetadataTooLarge;
    }
  } else if (header.type == FrameType::kAnswer) {
    const AnswerView answer{header};
    if (answer.succeeded() && answer.details_bytes() != 0) return FrameFault::kUnexpectedField;
    if (answer.details_bytes() > kStatusDetailsMax || answer.padded_details_bytes() > header.body_bytes) {
      return FrameFault::kMetadataTooLarge;
    }
    plausible = header.timeout == 0 && (answer.code() != 0 || answer.succeeded());
  } else {
    const bool uses64 = header.type == FrameType::kGoaway || header.type == FrameType::kPiece ||
                        header.type == FrameType::kCredit;
    const unsigned own16 = header.type == FrameType::kPiece ? 1 : 0;  // it is of an item
    plausible =
        ((header.typed16 & ~own16) | header.timeout | header.schema) == 0 && (header.typed64 == 0 || uses64);
    if (header.type == FrameType::kPiece) plausible = plausible && header.attachment_bytes != 0;
    if (header.type == FrameType::kGoaway || header.type == FrameType::kCarrier) {
      plausible = plausible && header.id == kNoId;
    } else if (header.type == FrameType::kItem) {
      const bool is_empty = header.body_bytes == 0 && header.attachment_bytes == 0;
      const bool in_pieces = header.following_bytes() == 0;
      plausible = plausible && in_pieces && (is_empty || !ItemView{header}.is_last());
    } else {
      plausible = plausible && header.body_bytes == 0;
    }
  }
  return plausible ? FrameFault::kNone : FrameFault::kUnexpectedField;
}

Status fault_status(FrameFault fault, const FrameHeader& header, const FrameLimits& limits) {
  WEFT_ASSERT(fault != FrameFault::kNone, "a frame without fault ends no connection");
  std::string message{"the peer sent a bad frame: "};
  message += to_string(fault);
  StatusCode code = StatusCode::kInvalidArgument;
  switch (fault) {
    case FrameFault::kUnknownType:
      message += " " + std::to_string(static_cast<unsigned>(header.type));
      break;
    case FrameFault::kUnknownFlags:
      message += " " + std::to_string(header.flags) + " in a " + std::string{to_string(header.type)};
      break;
    case FrameFault::kBodyTooLarge:
      code = StatusCode::kResourceExhausted;
      message += ", " + std::to_string(header.body_bytes) + " bytes of at most " +
                 std::to_string(limits.body_bytes_max) + ", which limits.body_bytes_max of this side raises";
      break;
    case FrameFault::kAttachmentTooLarge:
      code = StatusCode::kResourceExhausted;
      message += ", " + std::to_string(header.attachment_bytes) + " bytes of at most " +
                 std::to_string(limits.attachment_bytes_max) +
                 ", which limits.attachment_bytes_max of this side raises";
      break;
    case FrameFault::kChecksum:
      code = StatusCode::kDataLoss;
      break;
    default:
      message += " in a " + std::string{to_string(header.type)};
      break;
  }
  return {code, Layer::kWire, std::move(message), static_cast<std::int32_t>(fault), Retry::kReconnect};
}

void finish_frame(std::byte* frame, std::uint32_t body_bytes, bool checksum) noexcept {
  const std::size_t used = kHeaderBytes + body_bytes;
  const std::size_t end = kHeaderBytes + padded(body_bytes);
  std::memset(frame + used, 0, end - used);
  if (!checksum) return;
  store_le<std::uint64_t>(frame + end, crc32c({frame, used}));
}

bool checksum_matches(const std::byte* frame, std::uint32_t body_bytes) noexcept {
  const std::size_t used = kHeaderBytes + body_bytes;
  return load_le<std::uint64_t>(frame + kHeaderBytes + padded(body_bytes)) == crc32c({frame, used});
}

}  // namespace weft::detail::wire
