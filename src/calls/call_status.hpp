// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/memory_runs.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/method_key.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

/// The native code of a kFailedPrecondition that says the signatures differ.
inline constexpr std::int32_t kSchemaMismatch = 1;

/// A failure as an answer's head carries it, without its id; the message is the answer's body.
wire::AnswerHead failure_head(const Status& failure);

/// A wait as an answer's head carries it: rounded up, so that nobody comes too early.
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

/// Says that something is too large, against whose limit, and what to do; empty `advice`: nothing helps. A
/// value that the codec cannot encode is larger than any limit.
Status over_limit(std::string_view what, std::uint64_t bytes, std::uint64_t limit, std::string_view whose,
                  std::string_view advice);

/// The failure of a stream to which an item with an attachment of `bytes` was written, of which its peer
/// takes at most `most`, 0 if it knows none. `answers`: this side answers the stream's request.
Status attachment_refusal(std::uint64_t bytes, std::uint64_t most, bool answers);

/// Refuses memory that cannot be used as it was named: `what` says which it is. Ok without
/// a fault.
Status check_runs(std::string_view what, RunsFault fault);

/// The failure that ends a connection whose peer sent a piece of an attachment that does not come next.
Status misplaced_piece(wire::PieceView piece);

/// Makes a status of what was thrown while an argument was encoded. Called from within a catch.
Status status_of_encoding() noexcept;

/// The failure that an answer brought. Text and numbers are the peer's: the numbers are checked, the text is
/// cleaned and cut, and it says whose it is unless the failure is the handler's own.
Status answered_status(const Frame& frame, const MethodKey& method);

}  // namespace weft::detail
