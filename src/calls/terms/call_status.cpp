// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/call_status.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <string>
#include <string_view>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/peer_text.hpp"
#include "weft/detail/calls/terms/peer_says.hpp"

namespace weft::detail {

wire::AnswerHead failure_head(const Status& failure) {
  return {.code = failure.code(),
          .layer = failure.layer(),
          .retry = failure.retry(),
          .native = failure.native(),
          .retry_after_ms = retry_after_milliseconds(failure.retry_after())};
}

std::uint32_t retry_after_milliseconds(Duration wait) {
  const Duration most = std::clamp(wait, Duration::zero(), kRetryAfterMax);
  return static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::milliseconds>(most).count());
}

Status over_limit(std::string_view what, std::uint64_t bytes, std::uint64_t limit, std::string_view whose,
                  std::string_view advice) {
  if (bytes == kUnencodable) {
    return {StatusCode::kInvalidArgument, Layer::kCodec, [&] {
              return std::string{what} + " cannot be encoded: it is nested too deep or has too many elements";
            }};
  }
  return {StatusCode::kResourceExhausted, Layer::kRpc,
          [&] {
            return std::string{what} + " of " + std::to_string(bytes) + " bytes is over " +
                   std::string{whose} + " limit of " + std::to_string(limit) +
                   (advice.empty() ? "" : "; " + std::string{advice});
          },
          0, Retry::kNever};
}

Status attachment_refusal(std::uint64_t bytes, std::uint64_t most, bool answers) {
  if (most == 0) {
    return {StatusCode::kFailedPrecondition, Layer::kRpc,
            "the peer's build knows no attachments of items; nothing of the item was sent"};
  }
  return over_limit("an item's attachment", bytes, most, "the peer's",
                    answers ? kRaiseClientsAttachment : kRaiseServersAttachment);
}

Status check_runs(std::string_view what, RunsFault fault) {
  if (fault == RunsFault::kNone) [[likely]]
    return {};
  std::string_view why;
  switch (fault) {
    case RunsFault::kNone:
      break;
    case RunsFault::kOverlap:
      why = "overlap: the stride is less than the bytes of a block";
      break;
    case RunsFault::kWrap:
      why = "lie behind the end of all addresses: their stride or their number is too large";
      break;
    case RunsFault::kOutside:
      why = "leave the memory that they are to lie in: make it larger, or them fewer or closer";
      break;
    case RunsFault::kTooMany:
      why = "have more bytes together than can be counted";
      break;
  }
  return {StatusCode::kInvalidArgument, Layer::kRpc,
          [&] { return std::string{what} + " cannot be used: its blocks " + std::string{why}; },
          static_cast<std::int32_t>(fault), Retry::kNever};
}

Status misplaced_piece(wire::PieceView piece) {
  return {StatusCode::kInvalidArgument, Layer::kWire,
          [&] {
            return "the peer sent a bad frame: a piece of an attachment that does not come next, " +
                   std::to_string(piece.bytes()) + " bytes at " + std::to_string(piece.offset());
          },
          static_cast<std::int32_t>(wire::FrameFault::kMisplacedPiece), Retry::kReconnect};
}

Status status_of_encoding() noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return {StatusCode::kResourceExhausted, Layer::kCodec, "out of memory for an argument"};
  } catch (const std::exception& exception) {
    return {StatusCode::kInvalidArgument, Layer::kCodec,
            [&] { return std::string{"encoding an argument threw: "} + exception.what(); }};
  } catch (...) {
    return {StatusCode::kInvalidArgument, Layer::kCodec, "encoding an argument threw something unknown"};
  }
}

Status answered_status(const Frame& frame, const MethodKey& method) {
  const wire::AnswerView answer{frame.header};
  const unsigned number = answer.code();
  // A later build may have codes, layers and advice that this one does not know.
  const bool known = is_status_code(number) && number != 0;
  const auto code = known ? static_cast<StatusCode>(number) : StatusCode::kUnknown;
  const auto layer = answer.layer() <= static_cast<unsigned>(Layer::kRpc) ? static_cast<Layer>(answer.layer())
                                                                          : Layer::kNone;
  const std::int32_t native = known ? answer.native() : static_cast<std::int32_t>(number);
  // A body that was skipped is shorter than its frame says.
  const bool is_whole = frame.body.size() >= answer.padded_details_bytes();
  const Bytes details = is_whole ? frame.body.first(answer.details_bytes()) : Bytes{};
  const Bytes text = is_whole ? frame.body.subspan(answer.padded_details_bytes()) : Bytes{};
  const auto message = [&]() -> std::string {
    std::string theirs = peer_text(as_text(text));
    // The server passes on the failure of a call of its own.
    const bool is_passed_on = theirs.find(kPeerSays) != std::string::npos;
    if (!known) {
      return "the server gives status code " + std::to_string(number) +
             ", which this build does not know, and says: " + theirs;
    }
    // Without this prefix the text could not be told from a failure of the caller's own connection or memory.
    // A failure that a server passes on without words of its own already has the prefix.
    if (layer != Layer::kUser && !theirs.starts_with(kPeerSays)) theirs.insert(0, kPeerSays);
    if (code == StatusCode::kFailedPrecondition && layer == Layer::kRpc && native == kSchemaMismatch) {
      return theirs + "; this caller takes it for " + method.schema_text(method);
    }
    // The server knows a method that it does not have by a number only. If a server behind it does not have
    // the method, the text names that method already, and this one is served.
    const bool names_it = code == StatusCode::kUnimplemented && layer == Layer::kRpc && !is_passed_on;
    return names_it ? "'" + std::string{method.name} + "': " + theirs : theirs;
  };
  // The server answered, so it is alive and the call's fate is known: reconnecting would not help.
  auto retry = answer.retry() <= static_cast<unsigned>(Retry::kReconnect) ? static_cast<Retry>(answer.retry())
                                                                          : Retry::kNever;
  if (retry == Retry::kReconnect) retry = Retry::kBackoff;
  Status failure{code, layer, message, native, retry};
  failure.set_retry_after(std::chrono::milliseconds{answer.retry_after_ms()});
  if (answer.unprocessed()) failure.mark_unprocessed();
  return details.empty() ? failure : failure.with_details(as_text(details));
}

}  // namespace weft::detail
