// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "calls/admission.hpp"
#include "calls/arriving_call.hpp"
#include "calls/id_table.hpp"
#include "weft/base/result.hpp"
#include "weft/base/status.hpp"
#include "weft/base/time.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"
#include "weft/memory/buffer.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

struct CallsHost;
class Connection;

/// Takes what becomes of the requests that arrive in pieces.
class ArrivingCallsOwner {
 public:
  /// All of the attachment of `call` is there; the call ends when this returns.
  virtual void on_call_arrived(const ArrivingCall& call, Buffer attachment) = 0;
  /// The call ends before it was whole.
  virtual void on_call_refused(wire::RequestView request, const Refusal& refusal) = 0;
  virtual void on_call_failed(wire::RequestView request, const Status& failure) = 0;

 protected:
  ~ArrivingCallsOwner() = default;
};

/// The requests of one connection whose attachments are coming in pieces. They count among the calls in
/// flight. Each is charged what has arrived of it; all together may not announce more than
/// connection_memory_max, which takes addresses and no memory. One that does not get on for
/// RpcLimits::frame_timeout ends.
///
///   begin() --pieces--> arriving --the last one--> on_call_arrived()
///                          |  refused, late, cancelled, dropped
///                          '--> its memory is free, and pieces that still come for it are skipped
///
/// Thread: the connection's loop.
class ArrivingCalls {
 public:
  /// All outlive it.
  ArrivingCalls(ArrivingCallsOwner& owner, Connection& connection, Loop& loop, const RpcLimits& limits,
                Admission& admission, CallsHost& host);
  ArrivingCalls(const ArrivingCalls&) = delete;
  ArrivingCalls& operator=(const ArrivingCalls&) = delete;
  ~ArrivingCalls() { drop_all(); }

  bool has(std::uint64_t id) const { return table_.find(id) != nullptr; }
  /// Takes a request, whose id is not in use. With a refusal nothing has changed.
  std::optional<Refusal> begin(const Frame& frame, const ChunkRef& chunk, Deadline deadline);
  /// Chooses the place of a piece. A failure is the peer's breach of the protocol.
  Result<Landing> on_piece(wire::PieceView piece);
  /// `left` bytes of the piece that lands are to come.
  void on_progress(std::uint64_t left);
  /// The piece is there, unless it was skipped or abandoned.
  void on_piece_end(wire::PieceView piece);
  /// The caller gave the call up. It ends, if it is here.
  void cancel(std::uint64_t id);
  /// A time of `call` is over: its deadline, or that in which it has to get on.
  void on_time(ArrivingCall& call);
  /// The connection is gone.
  void drop_all() noexcept;

 private:
  void arm(ArrivingCall& call);
  bool charge(ArrivingCall& call, std::size_t arrived);
  std::unique_ptr<ArrivingCall> end(ArrivingCall& call) noexcept;
  std::unique_ptr<ArrivingCall> take(ArrivingCall& call) noexcept;

  ArrivingCallsOwner& owner_;
  Connection& connection_;
  Loop& loop_;
  const RpcLimits& limits_;
  Admission& admission_;
  CallsHost& host_;
  IdTable<ArrivingCall> table_;
  IntrusiveList<ArrivingCall, ArrivingCallTag> calls_;
  /// Bytes of the attachments that are arriving, whole.
  std::uint64_t announced_ = 0;
  /// The call whose piece is being received; null when nobody wants that any more.
  ArrivingCall* landing_ = nullptr;
  std::size_t landing_bytes_ = 0;
};

}  // namespace weft::detail
