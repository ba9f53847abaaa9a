// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/memory_runs.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

/// The native code of a kFailedPrecondition that says the signatures differ.
inline constexpr std::int32_t kSchemaMismatch = 1;

/// A failure as an answer's head carries it, without its id; details and message are the answer's body.
wire::AnswerHead failure_head(const Status& failure);

/// The wait as encoded in an answer's header: rounded up, so that no caller returns too early.
std::uint32_t retry_after_milliseconds(Duration wait);

/// Bytes of a failure's text that go to the caller when there is no memory for more.
inline constexpr std::size_t kShortTextBytes = 1024;

/// Advice about a limit that a call exceeds: each option that has to change, on both sides where both count.
inline constexpr std::string_view kRaiseBody =
    "raise ClientOptions::limits.body_bytes_max and ServerOptions::limits.body_bytes_max";
inline constexpr std::string_view kRaiseServersAttachment =
    "raise ServerOptions::limits.attachment_bytes_max";
inline constexpr std::string_view kRaiseClientsAttachment =
    "raise ClientOptions::limits.attachment_bytes_max";
inline constexpr std::string_view kNameLanding =
    "name memory for it by CallOptions::landing, or raise "
    "ClientOptions::limits.unrequested_attachment_bytes_max";

/// Reports a size above a limit, with the limit's owner and advice; empty `advice`: nothing helps. A value
/// that the codec cannot encode is larger than any limit.
Status over_limit(std::string_view what, std::uint64_t bytes, std::uint64_t limit, std::string_view whose,
                  std::string_view advice);

/// The failure of a stream when an item with an attachment of `bytes` was written and its peer takes at most
/// `most`; 0 if the peer does not support attachments. `answers`: this side answers the stream's request.
Status attachment_refusal(std::uint64_t bytes, std::uint64_t most, bool answers);

/// Refuses an invalid list of memory, named by `what`. Ok without a fault.
Status check_runs(std::string_view what, RunsFault fault);

/// The failure of a connection with a peer that sent a piece of an attachment out of order.
Status misplaced_piece(wire::PieceView piece);

/// Makes a status from the exception thrown while an argument was encoded. Call only within a catch block.
Status status_of_encoding() noexcept;

/// The failure in an answer. Text and numbers come from the peer: the numbers are checked, and the text is
/// cleaned and cut, and prefixed with its origin unless the failure is the handler's own.
Status answered_status(const Frame& frame, const MethodKey& method);

}  // namespace weft::detail
