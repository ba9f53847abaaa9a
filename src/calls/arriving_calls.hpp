// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calls/admission.hpp"
#include "calls/arriving_call.hpp"
#include "calls/gate_pass.hpp"
#include "calls/id_table.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

struct CallsHost;
class Connection;
class FrameOutput;

/// Takes what becomes of the requests that are served when their attachments are there.
class ArrivingCallsOwner {
 public:
  /// All of the attachment of `call` is there; the call ends when this returns.
  virtual void on_call_arrived(ArrivingCall& call, Buffer attachment) = 0;
  /// The call ends before it was whole.
  virtual void on_call_refused(wire::RequestView request, const Refusal& refusal) = 0;
  virtual void on_call_failed(wire::RequestView request, const Status& failure) = 0;

 protected:
  ~ArrivingCallsOwner() = default;
};

/// The requests of one connection whose attachments are coming: in pieces, or behind their frame when their
/// handlers chose the place. Those whose handler does not run yet count among the calls in flight. Each is
/// charged what has arrived of it in the server's memory; all together may not announce more than
/// connection_memory_max, which takes addresses and no memory. One that does not get on for
/// RpcLimits::frame_timeout ends.
///
///   begin(), ask_for() --pieces--> arriving --the last one--> on_whole()
///                                     |  refused, late, cancelled, dropped, the peer ended its side
///                                     '--> its memory is free, and pieces that still come for it are skipped
///
/// Thread: the connection's loop.
class ArrivingCalls {
 public:
  /// All outlive it.
  ArrivingCalls(ArrivingCallsOwner& owner, Connection& connection, FrameOutput& output, Loop& loop,
                const RpcLimits& limits, Admission& admission, CallsHost& host);
  ArrivingCalls(const ArrivingCalls&) = delete;
  ArrivingCalls& operator=(const ArrivingCalls&) = delete;
  ~ArrivingCalls();

  /// Returns the one of the request with this id; null when it is not here.
  ArrivingAttachment* find(std::uint64_t id) const { return table_.find(id); }
  Loop& loop() const { return loop_; }
  Admission& admission() const { return admission_; }
  /// Takes a request, whose id is not in use, and `pass`, which may be null. With a refusal nothing has
  /// changed.
  std::optional<Refusal> begin(const Frame& frame, const ChunkRef& chunk, Deadline deadline, OwnedPass& pass);
  /// Asks the peer for `attachment`, whose request waits for that. With a failure nothing has changed.
  Status ask_for(ArrivingAttachment& attachment) noexcept;
  /// Tells the peer that the attachment of `id` may come. False when there is no memory for that: the
  /// connection ends.
  bool send_continue(std::uint64_t id) noexcept;
  /// `attachment` follows its frame: all of it comes now.
  Landing land_following(ArrivingAttachment& attachment) noexcept;
  void on_following_end(bool landed);
  /// Makes memory of the server's for an attachment of `bytes`, or says why not.
  Result<ArrivingBuffer> landing_memory(std::size_t bytes);

  /// Chooses the place of a piece. A failure is the peer's breach of the protocol.
  Result<Landing> on_piece(wire::PieceView piece);
  /// `left` bytes of the piece that lands are to come.
  void on_progress(std::uint64_t left);
  /// The piece is there, unless it was skipped or abandoned.
  void on_piece_end(wire::PieceView piece);
  /// The caller gave the call up. It ends, if it is here, when no device writes to its memory any more.
  void cancel(std::uint64_t id);
  /// Nobody wants more of `attachment`, which is here: on_given_up() follows, at once or when no device
  /// writes to its memory any more.
  void give_up(ArrivingAttachment& attachment);
  /// Does as give_up(), at once and without a word to `attachment`; waits for a device.
  void remove(ArrivingAttachment& attachment) noexcept;
  /// A time of `attachment` is over: its deadline, that in which it has to get on, or a wait for its memory.
  void on_time(ArrivingAttachment& attachment);
  /// The peer has ended its side: fails as many of those that are not whole as may end in one turn, and any
  /// that is asked for later. False when there were none.
  bool end_some();
  /// The connection is gone: drops as many as `left` says, and counts them down. False when some are left.
  bool drop_some(std::size_t& left) noexcept;

 private:
  void insert(ArrivingAttachment& attachment) noexcept;
  void arm(ArrivingAttachment& attachment);
  bool charge(ArrivingAttachment& attachment, std::size_t arrived);
  void landed(ArrivingAttachment& attachment, std::size_t bytes);
  void leave(ArrivingAttachment& attachment) noexcept;

  ArrivingCallsOwner& owner_;
  Connection& connection_;
  FrameOutput& output_;
  Loop& loop_;
  const RpcLimits& limits_;
  Admission& admission_;
  CallsHost& host_;
  IdTable<ArrivingAttachment> table_;
  IntrusiveList<ArrivingAttachment, ArrivingAttachmentTag> arriving_;
  /// Bytes of the attachments that are arriving in the server's memory, whole.
  std::uint64_t announced_ = 0;
  /// The one of which bytes are being received; null when nobody wants them any more.
  ArrivingAttachment* landing_ = nullptr;
  std::size_t landing_bytes_ = 0;
  bool peer_ended_ = false;
};

}  // namespace weft::detail
