// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "calls/served_list.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/received_attachment.hpp"
#include "weft/detail/calls/served_call.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail {

/// Parts of a request that a call which ends at once looks at, beside its body: its metadata, and its
/// attachment, where it was received or where it landed.
struct RequestAtOnce {
  Bytes metadata{};
  ReceivedAttachment received{};
  Buffer landed{};
};

/// Serves a call whose method `ends_at_once`, and which is one of `calls` meanwhile; what `request` and
/// `rest` point to stays as long. Nothing else of the loop runs before its end, so its deadline is told to
/// the handler and to nobody else.
void serve_at_once(ServedList& calls, AnswerSink& sink, CallsHost& host, Loop& loop,
                   const MethodEntry& method, ServedRequest request, RequestAtOnce rest);

}  // namespace weft::detail
