// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/serve/served_list.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/received_attachment.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail {

/// A request as seen by a call that ends at once; the pointers are valid as long as that call.
struct RequestAtOnce {
  std::uint64_t id = 0;
  Bytes metadata{};
  Bytes body{};
  Deadline deadline{};
  /// Bytes that were reserved for the record and the body, which the call gives back.
  std::size_t kept = 0;
  /// Bytes that the call counts in its connection.
  std::size_t connection_charge = 0;
  std::uint32_t answer_bytes_max = 0;
  /// Time at which the request was received; only where calls are timed.
  TimePoint received_at{};
  /// The attachment in the memory where it was received, if it is complete; the same number of bytes was
  /// reserved.
  Bytes received{};
  /// The attachment, where it landed. The call takes this, and the place.
  Buffer& landed;
  RunningPlace& place;
};

/// Serves a call of a method with `ends_at_once`, and lists it in `calls` meanwhile. Nothing else on the loop
/// runs before its end, so its deadline is only reported to the handler.
void serve_at_once(ServedList& calls, AnswerSink& sink, CallsHost& host, Loop& loop,
                   const MethodEntry& method, const RequestAtOnce& request);

}  // namespace weft::detail
