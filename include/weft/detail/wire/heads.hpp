// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/status.hpp"
#include "weft/detail/wire/frame.hpp"

/// The heads of those frames that have fields of their own, by name: a Head is written, a View reads the
/// header that was received, which it only points to.
namespace weft::detail::wire {

/// Head of a request.
struct RequestHead {
  std::uint32_t body_bytes = 0;
  std::uint8_t flags = 0;
  /// Bytes of metadata at the beginning of the body, followed by zeros to a multiple of 8; the arguments
  /// follow.
  std::uint16_t metadata_bytes = 0;
  /// Chosen by the caller.
  std::uint64_t id = kNoId;
  std::uint64_t method = 0;
  /// Remaining time, in the unit that the flags say; 0 = no deadline.
  std::uint32_t timeout = 0;
  /// 32 bits of the schema of arguments and result; the server refuses a call whose schema is another.
  std::uint32_t schema = 0;
  std::uint64_t attachment_bytes = 0;

  constexpr FrameHeader header() const noexcept {
    return {body_bytes, FrameType::kRequest, flags, metadata_bytes, id, method, timeout,
            schema,     attachment_bytes};
  }
};

/// Names the fields of a request.
class RequestView {
 public:
  explicit RequestView(const FrameHeader& header) noexcept : header_(&header) {}

  std::uint64_t id() const noexcept { return header_->id; }
  std::uint64_t method() const noexcept { return header_->typed64; }
  std::uint32_t schema() const noexcept { return header_->schema; }
  std::uint32_t timeout() const noexcept { return header_->timeout; }
  bool timeout_is_in_seconds() const noexcept {
    return (header_->flags & FrameFlags::kTimeoutInSeconds) != 0;
  }
  /// Its attachment waits to be asked for.
  bool expects_continue() const noexcept {
    return (header_->flags & FrameFlags::kInPieces) != 0 &&
           (header_->flags & FrameFlags::kExpectsContinue) != 0;
  }
  std::uint16_t metadata_bytes() const noexcept { return header_->typed16; }
  std::uint64_t padded_metadata_bytes() const noexcept { return padded(header_->typed16); }
  std::uint64_t arguments_bytes() const noexcept { return header_->body_bytes - padded_metadata_bytes(); }
  std::uint64_t attachment_bytes() const noexcept { return header_->attachment_bytes; }

 private:
  const FrameHeader* header_;
};

/// Head of an answer: of a success, unless a code says otherwise.
struct AnswerHead {
  std::uint32_t body_bytes = 0;
  std::uint8_t flags = 0;
  StatusCode code = StatusCode::kOk;
  /// The layer of the failure, the advice, and the error number of the layer below.
  Layer layer = Layer::kNone;
  Retry retry = Retry::kNever;
  std::int32_t native = 0;
  /// Milliseconds to wait, after a failure, before the same is tried again; 0: nothing is said.
  std::uint32_t retry_after_ms = 0;
  /// Bytes of a failure's details at the beginning of the body, followed by zeros to a multiple of 8; the
  /// text of the message follows.
  std::uint32_t details_bytes = 0;
  /// The request's.
  std::uint64_t id = kNoId;
  std::uint64_t attachment_bytes = 0;

  constexpr FrameHeader header() const noexcept {
    const std::uint64_t numbers =
        std::uint64_t{static_cast<std::uint32_t>(native)} | std::uint64_t{retry_after_ms} << 32;
    const auto outcome = static_cast<std::uint16_t>(
        static_cast<unsigned>(code) | static_cast<unsigned>(layer) << 8 | static_cast<unsigned>(retry) << 12);
    return {body_bytes, FrameType::kAnswer, flags, outcome, id, numbers, 0, details_bytes, attachment_bytes};
  }
};

/// Names the fields of an answer, in which code, layer and retry may be numbers of a later build.
class AnswerView {
 public:
  explicit AnswerView(const FrameHeader& header) noexcept : header_(&header) {}

  bool succeeded() const noexcept { return header_->typed16 == 0; }
  unsigned code() const noexcept { return header_->typed16 & 0xFF; }
  unsigned layer() const noexcept { return header_->typed16 >> 8 & 0xF; }
  unsigned retry() const noexcept { return header_->typed16 >> 12; }
  std::int32_t native() const noexcept {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(header_->typed64));
  }
  std::uint32_t retry_after_ms() const noexcept { return static_cast<std::uint32_t>(header_->typed64 >> 32); }
  std::uint32_t details_bytes() const noexcept { return header_->schema; }
  std::uint64_t padded_details_bytes() const noexcept { return padded(header_->schema); }
  /// The call was refused before its handler ran.
  bool unprocessed() const noexcept { return (header_->flags & FrameFlags::kUnprocessed) != 0; }

 private:
  const FrameHeader* header_;
};

/// Head of a goaway.
struct GoawayHead {
  std::uint32_t body_bytes = 0;
  /// Position in the byte stream of its receiver, from the hello on, from which on no request was taken and
  /// none will be; 0 says that requests are still taken.
  std::uint64_t taken_up_to = 0;

  constexpr FrameHeader header() const noexcept {
    return {.body_bytes = body_bytes, .type = FrameType::kGoaway, .typed64 = taken_up_to};
  }
};

/// Names the fields of a goaway.
class GoawayView {
 public:
  explicit GoawayView(const FrameHeader& header) noexcept : header_(&header) {}

  std::uint64_t taken_up_to() const noexcept { return header_->typed64; }

 private:
  const FrameHeader* header_;
};

/// Head of a piece, whose bytes follow it as its attachment.
struct PieceHead {
  /// The request's.
  std::uint64_t id = kNoId;
  /// The bytes of the attachment that came before.
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  /// It is one of an answer, or of an item of the side that answers the request.
  bool of_answer = false;
  bool last = false;
  /// It is one of an item of the request's stream: the one that was sent last in its direction.
  bool of_item = false;

  constexpr FrameHeader header() const noexcept {
    const unsigned flags = FrameFlags::kAttachment | (of_answer ? FrameFlags::kOfAnswer : 0u) |
                           (last ? FrameFlags::kLastPiece : 0u);
    return {.type = FrameType::kPiece,
            .flags = static_cast<std::uint8_t>(flags),
            .typed16 = static_cast<std::uint16_t>(of_item ? 1 : 0),
            .id = id,
            .typed64 = offset,
            .attachment_bytes = bytes};
  }
};

/// Names the fields of a piece.
class PieceView {
 public:
  explicit PieceView(const FrameHeader& header) noexcept : header_(&header) {}

  std::uint64_t id() const noexcept { return header_->id; }
  std::uint64_t offset() const noexcept { return header_->typed64; }
  std::uint64_t bytes() const noexcept { return header_->attachment_bytes; }
  bool of_answer() const noexcept { return (header_->flags & FrameFlags::kOfAnswer) != 0; }
  bool of_item() const noexcept { return header_->typed16 != 0; }
  bool is_last() const noexcept { return (header_->flags & FrameFlags::kLastPiece) != 0; }
  /// Returns true if it is the next piece of an attachment of `whole` bytes with `received` bytes so far.
  bool fits(std::uint64_t received, std::uint64_t whole) const noexcept {
    return offset() == received && bytes() <= whole - received && is_last() == (bytes() == whole - received);
  }

 private:
  const FrameHeader* header_;
};

/// Head of an item of a stream, which is its body; or, `last`, of the end of this side's items.
struct ItemHead {
  std::uint32_t body_bytes = 0;
  /// The request's.
  std::uint64_t id = kNoId;
  /// Its sender answers the stream's request.
  bool of_answer = false;
  bool last = false;
  /// Its attachment's, which follows in pieces before the next item of its stream; 0: it has none.
  std::uint64_t attachment_bytes = 0;

  constexpr FrameHeader header() const noexcept {
    const unsigned flags = (of_answer ? FrameFlags::kOfAnswer : 0u) | (last ? FrameFlags::kLastItem : 0u) |
                           (attachment_bytes != 0 ? FrameFlags::kAttachment | FrameFlags::kInPieces : 0u);
    return {.body_bytes = body_bytes,
            .type = FrameType::kItem,
            .flags = static_cast<std::uint8_t>(flags),
            .id = id,
            .attachment_bytes = attachment_bytes};
  }
};

/// Cost of an item of `body_bytes` in its stream's window: its size on the wire without checksums, so that
/// empty items are bounded too.
constexpr std::uint64_t item_cost(std::uint32_t body_bytes) {
  return kHeaderBytes + padded(body_bytes);
}
/// The same of an item with an attachment, whose pieces' heads are not counted. A sum of these does not
/// overflow before the peer has sent as much.
constexpr std::uint64_t item_cost(std::uint32_t body_bytes, std::uint64_t attachment_bytes) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 56;
  return item_cost(body_bytes) + padded(attachment_bytes < kMost ? attachment_bytes : kMost);
}

/// Names the fields of an item.
class ItemView {
 public:
  explicit ItemView(const FrameHeader& header) noexcept : header_(&header) {}

  std::uint64_t id() const noexcept { return header_->id; }
  bool of_answer() const noexcept { return (header_->flags & FrameFlags::kOfAnswer) != 0; }
  bool is_last() const noexcept { return (header_->flags & FrameFlags::kLastItem) != 0; }
  std::uint64_t attachment_bytes() const noexcept { return header_->attachment_bytes; }
  std::uint64_t cost() const noexcept { return item_cost(header_->body_bytes, header_->attachment_bytes); }

 private:
  const FrameHeader* header_;
};

/// Head of a credit: the receiver of a stream's items has room for more.
struct CreditHead {
  /// The request's.
  std::uint64_t id = kNoId;
  /// Sum of item_cost() that may be sent on the stream from its beginning on; an item may begin below it and
  /// end above it.
  std::uint64_t granted = 0;
  /// Its sender answers the stream's request.
  bool of_answer = false;

  constexpr FrameHeader header() const noexcept {
    const unsigned flags = of_answer ? FrameFlags::kOfAnswer : 0u;
    return {
        .type = FrameType::kCredit, .flags = static_cast<std::uint8_t>(flags), .id = id, .typed64 = granted};
  }
};

/// Head of a rate: limits the attachment of an answer from now on, even if some of it has been sent.
struct RateHead {
  /// The request's.
  std::uint64_t id = kNoId;
  std::uint64_t bytes_per_second = 0;

  constexpr FrameHeader header() const noexcept {
    return {.type = FrameType::kRate, .id = id, .typed64 = bytes_per_second};
  }
};

/// Head of metadata of an answer: its body is pairs, in the layout of a request's metadata. Several frames of
/// a kind add up.
struct AnswerMetadataHead {
  std::uint32_t body_bytes = 0;
  /// The request's.
  std::uint64_t id = kNoId;
  /// They go ahead of the answer and of later items; otherwise they belong to the end of the call.
  bool initial = false;

  constexpr FrameHeader header() const noexcept {
    return {.body_bytes = body_bytes,
            .type = FrameType::kAnswerMetadata,
            .typed16 = static_cast<std::uint16_t>(initial ? 1 : 0),
            .id = id};
  }
};

/// Names the fields of metadata of an answer.
class AnswerMetadataView {
 public:
  explicit AnswerMetadataView(const FrameHeader& header) noexcept : header_(&header) {}

  std::uint64_t id() const noexcept { return header_->id; }
  bool is_initial() const noexcept { return (header_->typed16 & 1) != 0; }

 private:
  const FrameHeader* header_;
};

/// Names the fields of a rate.
class RateView {
 public:
  explicit RateView(const FrameHeader& header) noexcept : header_(&header) {}

  std::uint64_t id() const noexcept { return header_->id; }
  /// Zero has no effect.
  std::uint64_t bytes_per_second() const noexcept { return header_->typed64; }

 private:
  const FrameHeader* header_;
};

/// Names the fields of a credit.
class CreditView {
 public:
  explicit CreditView(const FrameHeader& header) noexcept : header_(&header) {}

  std::uint64_t id() const noexcept { return header_->id; }
  std::uint64_t granted() const noexcept { return header_->typed64; }
  bool of_answer() const noexcept { return (header_->flags & FrameFlags::kOfAnswer) != 0; }

 private:
  const FrameHeader* header_;
};

}  // namespace weft::detail::wire
