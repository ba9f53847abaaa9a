// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/served_list.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/received_attachment.hpp"
#include "weft/detail/calls/served_call.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail {

/// A request that a call which ends at once looks at; what it points to stays as long.
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
  /// The attachment, where it was received, if it is there; as many bytes were reserved.
  Bytes received{};
  /// The attachment, where it landed. The call takes this, and the place.
  Buffer& landed;
  RunningPlace& place;
};

/// Serves a call whose method `ends_at_once`, and which is one of `calls` meanwhile. Nothing else of the loop
/// runs before its end, so its deadline is told to the handler and to nobody else.
void serve_at_once(ServedList& calls, AnswerSink& sink, CallsHost& host, Loop& loop,
                   const MethodEntry& method, const RequestAtOnce& request);

}  // namespace weft::detail
