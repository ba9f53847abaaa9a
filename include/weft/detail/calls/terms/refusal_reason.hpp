// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weft {

/// Reason for which a server refused what a peer sent: it names a counter, see ServerStats::refused. The
/// first group ends the connection, the second only the call.
enum class RefusalReason : std::uint8_t {
  kBadHello,            ///< another protocol, or a hello that is spoilt
  kHelloMismatch,       ///< a version or a feature that one side lacks
  kUnknownType,         ///< from here to kMisplacedItem: wire::FrameFault, in its order
  kUnknownFlags,        //
  kBodyTooLarge,        ///< over body_bytes_max
  kAttachmentTooLarge,  ///< over attachment_bytes_max
  kUnexpectedField,
  kChecksum,
  kPadding,
  kMetadataTooLarge,  ///< over 8 KiB, or longer than the body that it is in
  kMisplacedPiece,    ///< a piece of an attachment that does not come next
  kMisplacedItem,     ///< an item without credit, after the end, or of a call that is no stream
  kCarrierRules,      ///< against the rules of bringing up a carrier, or of one's own messages
  kRepeatedCallId,    ///< two calls in flight of one id

  kUnknownMethod,
  kWrongSchema,
  kBadArguments,           ///< a body that is not one of the method
  kBadMetadata,            ///< pairs that are not whole, without a key, or too many
  kOverMethodsBody,        ///< over HandlerOptions::body_bytes_max
  kOverMethodsAttachment,  ///< over HandlerOptions::attachment_bytes_max
  kAttachmentNotTaken,     ///< for a method that takes none
  kAttachmentStalled,      ///< its attachment was announced and made no progress for frame_timeout
  kOverConnectionMemory,   ///< over connection_memory_max
  kOverProcessMemory,      ///< over process_memory_max, or the system has no memory
  kOverOutbox,             ///< more than outbox_high_water waits to be sent to the peer, which owes answers
  kOverCallsInFlight,      ///< over calls_in_flight_max
  kOverStreams,            ///< over streams_max
  kOverRunning,            ///< over HandlerOptions::running_max, or calls_running_max
  kOverWorkerQueue,        ///< over worker_queue_max
  kBehind,                 ///< half of the caller's time had passed before the request was looked at
  kOverCallerRate,         ///< over one of ServerOptions::caller_rates
  kOverMethodsRate,        ///< over HandlerOptions::rate
  kOverAdaptiveLimit,      ///< more than the server, or the method, works on best
  kByInterceptor,          ///< one of ServerOptions::interceptors did not let it pass
  kUnidentified,    ///< the caller is anonymous, and ServerOptions::authorizer does not allow such calls
  kBadCredentials,  ///< its token is not good, as ServerOptions::authenticator says
  kNotAllowed,      ///< its caller is known and has no right to it, if there is such a method
  kCount,
};

namespace detail {

inline constexpr std::size_t kRefusalReasons = static_cast<std::size_t>(RefusalReason::kCount);

}  // namespace detail

constexpr bool ends_connection(RefusalReason why) {
  return why <= RefusalReason::kRepeatedCallId;
}
/// Returns its words for people and metrics: "unknown method".
std::string_view to_string(RefusalReason why);

/// One count for each RefusalReason.
struct RefusalCounts {
  std::array<std::uint64_t, detail::kRefusalReasons> counts{};

  std::uint64_t& operator[](RefusalReason why) { return counts[static_cast<std::size_t>(why)]; }
  std::uint64_t operator[](RefusalReason why) const { return counts[static_cast<std::size_t>(why)]; }
};

}  // namespace weft
