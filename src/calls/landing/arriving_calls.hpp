// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calls/gate/gate_pass.hpp"
#include "calls/landing/arriving_call.hpp"
#include "calls/sending/session_link.hpp"
#include "calls/terms/admission.hpp"
#include "calls/terms/id_table.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

class RefusalCounters;

/// Receives the outcome of requests that are served after their attachments have arrived.
class ArrivingCallsOwner {
 public:
  /// The attachment of `call` has arrived completely; the call ends when this returns.
  virtual void on_call_arrived(ArrivingCall& call, Buffer attachment) = 0;
  /// The call ends before it was whole.
  virtual void on_call_refused(wire::RequestView request, const Refusal& refusal) = 0;
  virtual void on_call_failed(wire::RequestView request, const Status& failure) = 0;

 protected:
  ~ArrivingCallsOwner() = default;
};

/// The requests of one connection with attachments that are arriving: in pieces, or after their frame when a
/// handler chose the memory. Requests with a handler that does not run yet count among the calls in flight.
/// Arrived bytes are charged to the server's memory; all attachments together may announce at most
/// connection_memory_max, which takes address space and no memory. An attachment without progress for
/// RpcLimits::frame_timeout ends.
///
///   begin(), ask_for() --pieces--> arriving --the last one--> on_whole()
///                                     |  refused, late, cancelled, dropped, the peer ended its side
///                                     '--> its memory is freed, and pieces that still arrive are skipped
///
/// Thread: the connection's loop.
class ArrivingCalls {
 public:
  /// All outlive it; `table_secret` is one of IdTable.
  ArrivingCalls(ArrivingCallsOwner& owner, SessionLink& link, Admission& admission, RefusalCounters& refusals,
                std::uint64_t table_secret);
  ArrivingCalls(const ArrivingCalls&) = delete;
  ArrivingCalls& operator=(const ArrivingCalls&) = delete;
  ~ArrivingCalls();

  /// Returns the one of the request with this id; null when it is not here.
  ArrivingAttachment* find(std::uint64_t id) const { return table_.find(id); }
  Loop& loop() const { return link_.loop(); }
  Admission& admission() const { return admission_; }
  /// Takes a request with an unused id, and `pass`, which may be null. A refusal changes nothing.
  std::optional<Refusal> begin(const Frame& frame, const ChunkRef& chunk, Deadline deadline, OwnedPass& pass);
  /// Asks the peer for `attachment` of a request that waits for this. A failure changes nothing.
  Status ask_for(ArrivingAttachment& attachment) noexcept;
  /// Allows the peer to send the attachment of `id`. Returns false when memory is exhausted: the connection
  /// ends.
  bool send_continue(std::uint64_t id) noexcept;
  /// `attachment` follows its frame directly and completely.
  Landing land_following(ArrivingAttachment& attachment) noexcept;
  void on_following_end(bool landed);
  /// Makes memory of the server's for an attachment of `bytes`, or says why not.
  Result<ArrivingBuffer> landing_memory(std::size_t bytes);

  /// Chooses the place of a piece. A failure is the peer's breach of the protocol.
  Result<Landing> on_piece(wire::PieceView piece);
  /// `left` bytes of the current piece have not arrived yet.
  void on_progress(std::uint64_t left);
  /// The piece has arrived, unless it was skipped or abandoned.
  void on_piece_end(wire::PieceView piece);
  /// The caller gave the call up. It ends, if it is here, when no device writes to its memory any more.
  void cancel(std::uint64_t id);
  /// Ends `attachment`, which is here and no longer wanted: on_given_up() follows, at once or when no device
  /// writes to its memory any more.
  void give_up(ArrivingAttachment& attachment);
  /// Removes `attachment` at once, without a call of its functions. Blocks until no device writes to its
  /// memory.
  void remove(ArrivingAttachment& attachment) noexcept;
  /// A time limit of `attachment` has passed: its deadline, the time for progress, or the wait for its
  /// memory.
  void on_time(ArrivingAttachment& attachment);
  /// The peer has ended its side: fails as many incomplete attachments as may end in one turn, and every
  /// later request for one. Returns false when there were none.
  bool end_some();
  /// The connection is gone: drops up to `left` attachments, and decrements `left` for each. Returns false
  /// when some remain.
  bool drop_some(std::size_t& left) noexcept;

 private:
  void insert(ArrivingAttachment& attachment) noexcept;
  void arm(ArrivingAttachment& attachment);
  bool charge(ArrivingAttachment& attachment, std::size_t arrived);
  void landed(ArrivingAttachment& attachment, std::size_t bytes);
  void leave(ArrivingAttachment& attachment) noexcept;

  ArrivingCallsOwner& owner_;
  SessionLink& link_;
  Admission& admission_;
  RefusalCounters& refusals_;
  IdTable<ArrivingAttachment> table_;
  IntrusiveList<ArrivingAttachment, ArrivingAttachmentTag> arriving_;
  /// Total size of the attachments that are arriving in the server's memory.
  std::uint64_t announced_ = 0;
  /// The attachment with bytes being received; null if there is none, or if it is no longer wanted.
  ArrivingAttachment* landing_ = nullptr;
  std::size_t landing_bytes_ = 0;
  bool peer_ended_ = false;
};

}  // namespace weft::detail
