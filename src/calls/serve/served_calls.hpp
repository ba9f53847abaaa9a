// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "calls/gate/call_gate.hpp"
#include "calls/gate/received_request.hpp"
#include "calls/landing/incoming_transfer.hpp"
#include "calls/serve/call_counting.hpp"
#include "calls/serve/calls_host.hpp"
#include "calls/serve/served_list.hpp"
#include "calls/terms/admission.hpp"
#include "calls/terms/id_table.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail {

struct MethodEntry;

/// Attributes of a received request beside its bytes.
struct RequestExtras {
  /// Deadline of the call, counted from when its request was here, not its attachment.
  Deadline deadline{};
  Buffer attachment{};
  /// Bytes in place of the attachment that stay while the request is received. They are not charged yet.
  Bytes received{};
  /// Transfer in place of the attachment, for a handler that chooses the memory; null without one.
  std::unique_ptr<IncomingTransfer, DropIncoming> incoming{};
  /// Null when the call passed nothing that is notified of its end.
  OwnedPass pass{};

  /// Bytes of the attachment in the server's memory.
  std::size_t attachment_there() const {
    return incoming == nullptr ? attachment.size() : incoming->received();
  }
};

/// The calls that one connection serves, by any protocol: passes them through gates and limits, starts
/// their handlers, and keeps the calls that outlive the receiving of their request. The protocol's AnswerSink
/// sends the answers. Thread: the connection's loop.
class ServedCalls {
 public:
  /// All of these outlive it.
  ServedCalls(AnswerSink& sink, CallsHost& host, Loop& loop, const RpcLimits& limits);

  CallGate& gate() { return gate_; }
  Admission& admission() { return admission_; }
  CallCounting& counting() { return counting_; }
  ServedList& list() { return list_; }
  /// Returns the call `id` if it has a record; otherwise null.
  ServedCall* find(std::uint64_t id) const { return table_.find(id); }

  /// Checks the caller of a request with these metadata, before its arguments are looked at. Null `method`:
  /// there is no such method. Counts the request. Returns false when the request was refused; a request for
  /// no method is always refused.
  bool begin_whole(std::uint64_t id, const MethodEntry* method, MetadataView metadata);
  /// Serves a request that has arrived as a whole, for which begin_whole() returned true. Only where no other
  /// call of the connection has the same id.
  void serve_whole(const MethodEntry& method, const ReceivedRequest& request, Deadline deadline);
  /// Refuses a request for which begin_whole() returned true.
  void refuse(std::uint64_t id, const Refusal& refusal);

  /// Passes a request through the gate of `method`, and serves it. The caller was checked. A failure is the
  /// peer's breach of the protocol.
  Status serve_gated(const MethodEntry& method, const ReceivedRequest& request, const ChunkRef& chunk,
                     RequestExtras&& extras, std::uint64_t attachment_bytes);
  /// Serves a request of an ordinary function that has passed its gate with `pass`, or has none.
  void serve_function(const MethodEntry& method, const ReceivedRequest& request, const ChunkRef& chunk,
                      GatePass* pass);
  /// Serves a request that has passed its gate, with a record. The arguments are in `chunk` if that is not
  /// null. A failure is the peer's breach of the protocol.
  Status serve(const MethodEntry& method, const ReceivedRequest& request, const ChunkRef& chunk,
               RequestExtras&& extras);
  /// Refuses a call that has passed its gate with `pass`, or has none.
  Status refuse_passed(std::uint64_t id, const Refusal& refusal, const OwnedPass& pass);

  /// Returns the breach of a peer whose request has the id of a call in flight.
  static Status id_in_use() {
    return {StatusCode::kInvalidArgument, Layer::kRpc, "two calls in flight have the same id"};
  }

  /// The call no longer uses the connection.
  void forget(ServedCall& call) {
    table_.erase(call);
    admission_.leave(call.request().connection_charge);
  }
  /// The connection is gone: notifies up to `left` calls, and decrements `left` for each. Returns false when
  /// some remain.
  bool orphan_some(std::size_t& left) { return list_.orphan_some(left); }

 private:
  void serve_function(const MethodEntry& method, const ReceivedRequest& request, const ChunkRef& chunk,
                      AnswerSink& sink);
  ServedCall* new_record(const MethodEntry& method, const ReceivedRequest& request, const ChunkRef& chunk,
                         const Charge& charge, RunningPlace place, RequestExtras& extras, bool has_details);

  CallsHost& host_;
  const RpcLimits& limits_;
  Admission admission_;
  CallGate gate_;
  IdTable<ServedCall> table_;
  ServedList list_;
  CallCounting counting_;
};

}  // namespace weft::detail
