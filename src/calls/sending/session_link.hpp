// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "calls/sending/frame_output.hpp"
#include "calls/sending/outgoing_transfers.hpp"
#include "calls/terms/counted_connection.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection.hpp"

namespace weft::detail {

class PeerSeat;
class PeerTarget;
class SessionStreams;

/// Limits that the peer's hello named.
struct PeerLimits {
  std::uint64_t attachment_bytes_max = 0;
  std::uint32_t body_bytes_max = 0;
  /// The peer's build supports streams.
  bool knows_streams = false;
};

/// The part of a session that its calls and streams use: the connection, its output, and the limits of both
/// sides. The session derives from it. Only rare operations are virtual. Thread: the loop's.
class SessionLink : public CountedConnection {
 public:
  SessionLink(const SessionLink&) = delete;
  SessionLink& operator=(const SessionLink&) = delete;

  Loop& loop() const { return loop_; }
  const RpcLimits& limits() const { return limits_; }
  Connection& connection() const { return *connection_; }
  FrameOutput& output() { return output_; }
  OutgoingTransfers& transfers() { return transfers_; }
  /// This loop's part of the memory budget of the server or client.
  LocalBudget& memory() const { return output_.memory(); }
  const PeerLimits& peer() const { return peer_; }
  /// Identifies the connection among all of this process.
  std::uint64_t connection_id() const { return connection_id_; }
  /// Returns true after the hellos, until one side sends a goaway or ends.
  bool ready() const { return state_ == State::kReady; }

  /// Ends the session soon: its owner is notified from the loop.
  void close(Status why) { connection_->close(std::move(why)); }
  /// The same, and tells the peer how much of its output was processed, if that can be sent at once: the peer
  /// then knows which of its calls have not run. Must not be called while a frame of the peer's is being
  /// processed.
  virtual void close_with_goaway(const Status& why) = 0;
  /// Ends our side after everything was sent; no calls of either side may be left.
  virtual void finish() = 0;
  /// Counts a refused input of the peer's, and logs it unless refusals are too frequent: see FaultGate.
  virtual void count_refusal(RefusalReason reason, const Status& why) = 0;
  /// Notifies the session's owner that a call may be sent again.
  virtual void notify_room() = 0;
  /// Returns true if this side has sent a goaway and serves calls that the peer waits for: their handlers may
  /// still call the peer.
  virtual bool serves_last_calls() = 0;
  virtual SessionStreams& streams() = 0;
  virtual PeerSeat& seat() = 0;
  /// Returns the target of calls to the peer, made on first use. Throws std::bad_alloc.
  virtual const std::shared_ptr<PeerTarget>& peer_target() = 0;

 protected:
  enum class State : std::uint8_t { kHello, kReady, kDraining, kHalfClosed, kClosed };

  SessionLink(Loop& loop, const RpcLimits& limits, LocalBudget& process,
              std::unique_ptr<Connection> connection, std::uint64_t connection_id)
      : loop_(loop),
        limits_(limits),
        connection_(std::move(connection)),
        output_(*connection_, limits, process),
        connection_id_(connection_id) {}
  ~SessionLink() = default;

  Loop& loop_;
  const RpcLimits& limits_;
  std::unique_ptr<Connection> connection_;
  FrameOutput output_;
  OutgoingTransfers transfers_{*connection_, output_};
  const std::uint64_t connection_id_;
  PeerLimits peer_;
  State state_ = State::kHello;
};

}  // namespace weft::detail
