// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calls/call/calls_out.hpp"
#include "calls/gate/fault_gate.hpp"
#include "calls/peers/peer_seat.hpp"
#include "calls/sending/frame_output.hpp"
#include "calls/sending/outgoing_transfers.hpp"
#include "calls/serve/calls_in.hpp"
#include "calls/session/requests_put_off.hpp"
#include "calls/session/requests_set_aside.hpp"
#include "calls/session/session_streams.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::detail {

class Session;

/// Makes a session, receives its events and destroys it, never inside a callback of the session: there it may
/// call abandon().
class SessionOwner {
 public:
  /// The hellos agree: calls may be made.
  virtual void on_session_ready(Session& session) = 0;
  /// The peer accepts no new calls; calls in flight go on.
  virtual void on_session_goaway(Session& session) = 0;
  /// A call may be sent again, after there was no room.
  virtual void on_session_room(Session& session) = 0;
  /// The session has ended, and all its calls were notified, except for those left to end_some(). The last
  /// callback.
  virtual void on_session_closed(Session& session, const Status& why) = 0;

 protected:
  ~SessionOwner() = default;
};

/// Parameters of a session; everything that they refer to outlives it.
struct SessionSetup {
  Loop& loop;
  SessionOwner& owner;
  const RpcLimits& limits;
  CallsHost& host;
  Logger& logger;
  /// Time from start() to the peer's whole hello.
  Duration hello_timeout;
  bool checksums = false;
  /// This side made the connection: it reports when the peer requires a carrier that it does not offer. The
  /// accepting side leaves this check to the connecting side.
  bool connecting = false;
  /// The owner calls Session::end_some() turn by turn when it is over, so that many calls end in many turns.
  bool ends_in_slices = false;
  /// Limit for our calls in flight, if that is less than the one in `limits`; zero:
  /// Capabilities::calls_shared_max of the carrier.
  std::uint32_t calls_max = UINT32_MAX;
};

/// Returns the limit for our calls in flight on `connection`, after its carrier was chosen.
std::uint32_t own_calls_max(const SessionSetup& setup, const Connection& connection);

/// Limits that the peer's hello named.
struct PeerLimits {
  std::uint32_t body_bytes_max = 0;
  std::uint64_t attachment_bytes_max = 0;
};

/// Returns the options of a connection that follow from `limits`.
ConnectionOptions connection_options(const RpcLimits& limits);

/// End of many calls of a lost connection; some have not been notified yet.
struct SessionEnding {
  Status why;
  std::uint64_t handed_over;
  /// Slot of the table from which on our calls have not been notified.
  std::uint32_t slot = 0;
};

struct SessionTag;

/// One connection with its calls in both directions. Handles the hello, liveness and the end; the calls
/// themselves are in CallsOut (ours) and CallsIn (the peer's).
///
///   kHello --both hellos agree--> kReady --goaway sent or received--> kDraining --> kClosed
///                                   '------the peer ended its side-----> kHalfClosed ---^
///
/// kHalfClosed lasts as long as handlers have answers to give. A peer that only ended its side receives them;
/// for a peer that is gone, a ping makes the system report the end of the connection. In kClosed many calls
/// may exist that were not notified yet: anything that they send is dropped.
///
/// Thread: its loop's.
class Session final : public ListHook<SessionTag>,
                      public ListHook<CountedSessionTag>,
                      private FrameSink,
                      private Timer {
 public:
  Session(const SessionSetup& setup, std::unique_ptr<Connection> connection, std::uint64_t connection_id);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Sends our hello and begins to receive.
  void start() noexcept;

  bool ready() const { return state_ == State::kReady; }
  /// Returns true if new calls may be queued: the session is ready, and has room for their frames.
  bool has_room() { return state_ == State::kReady && output_.has_room() && out_.has_place(); }

  /// Asks the peer to send no new calls; calls that still arrive are served. Before the peer's hello nothing
  /// is sent, and the peer gets little time for its hello: the owner must call this again in
  /// on_session_ready(). With `asks` the peer is also pinged, to confirm that it has received the goaway.
  void send_goaway(std::string_view reason, bool asks = false);
  /// Returns true if calls may be in flight that the peer sent before it received a goaway with `asks`.
  bool may_be_called() const { return life_.asked; }
  /// Ends our side after everything was sent; no calls of either side may be left.
  void finish();
  /// Called after its end: notifies up to `left` of its calls, and decrements `left` for each. Returns false
  /// when some remain.
  bool end_some(std::size_t& left) noexcept;

  /// Ends the session now: the owner is not notified any more, all calls have ended, and no memory of others
  /// is used. May be called inside the session's callbacks, but the session must stay until they have
  /// returned.
  void abandon() noexcept;
  /// Ends it soon: on_session_closed comes from the loop.
  void close(Status why);
  /// The same, and tells the peer how much of its output was processed, if that can be sent at once: the peer
  /// then knows which of its calls have not run. Must not be called while a frame of the peer's is being
  /// processed.
  void close_with_goaway(const Status& why);
  /// Counts a refused input of the peer's, and logs it unless refusals are too frequent: see FaultGate.
  void count_refusal(RefusalReason reason, const Status& why);

  Loop& loop() const { return setup_.loop; }
  const SessionSetup& setup() const { return setup_; }
  const RpcLimits& limits() const { return setup_.limits; }
  Connection& connection() { return *connection_; }
  FrameOutput& output() { return output_; }
  OutgoingTransfers& transfers() { return transfers_; }
  SessionStreams& streams() { return streams_; }
  CallsOut& calls_out() { return out_; }
  CallsIn& calls_in() { return in_; }
  const PeerLimits& peer() const { return peer_; }
  PeerSeat& seat() { return seat_; }
  /// Returns true if this side has sent a goaway and not ended yet, and the peer has not ended its side.
  bool is_leaving_itself() const {
    return state_ == State::kDraining && life_.goaway_sent && !life_.finished;
  }

 private:
  enum class State : std::uint8_t { kHello, kReady, kDraining, kHalfClosed, kClosed };

  Status on_hello(const wire::Hello& theirs) override;
  Status on_frames(std::span<const Frame> frames, const ChunkRef& chunk) override;
  bool wants_body(const wire::FrameHeader& header, Bytes arrived) override;
  bool takes_whole(const wire::FrameHeader& header) const override;
  Landing on_attachment(const Frame& frame) override;
  Landing on_attachment_ahead(const wire::FrameHeader& header) override {
    // An attachment that arrives whole goes through a chunk.
    return takes_whole(header) ? Landing::skip() : out_.on_attachment_ahead(header);
  }
  void on_attachment_progress(std::uint64_t left) override {
    in_.on_request_attachment_progress(left);
    if (streams_.arriving() != nullptr) streams_.arriving()->on_progress(left);
  }
  Status on_attachment_end(const Frame& frame, const ChunkRef& chunk, bool landed) override;
  void on_drained() override;
  bool owes_more() override;
  void on_closed(Status why) override;
  void on_timer() override;

  Status take_frames(std::span<const Frame> frames, const ChunkRef& chunk,
                     TimePoint held_since = TimePoint::max());
  /// `held_since` is the time at which they were deferred before, TimePoint::max() for the first time.
  bool put_off(std::span<const Frame> frames, const ChunkRef& chunk, TimePoint held_since);
  bool set_aside(const Frame& request, TimePoint held_since);
  /// Takes the frame at `at`, which is neither request nor answer; for an item also the following items of
  /// its stream. Sets `at` to the last frame taken.
  Status on_other(std::span<const Frame> frames, std::size_t& at, const ChunkRef& chunk);
  void watch_peer();

  SessionSetup setup_;
  std::unique_ptr<Connection> connection_;
  FrameOutput output_;
  OutgoingTransfers transfers_{*connection_, output_};
  SessionStreams streams_{*this, output_};
  PeerSeat seat_;
  CallsOut out_;
  CallsIn in_;
  std::unique_ptr<RequestsPutOff> put_off_;
  /// Null unless there are some.
  std::unique_ptr<RequestsSetAside> set_aside_;
  /// Null unless some of many calls have not been notified yet.
  std::unique_ptr<SessionEnding> ending_;
  PeerLimits peer_;
  State state_ = State::kHello;
  bool abandoned_ = false;
  /// State of the liveness check, and of the end of this side.
  struct Life {
    bool heard = false;
    bool pinged = false;
    bool goaway_sent = false;
    /// This side has ended, or ends once all is sent.
    bool finished = false;
    /// True from a goaway with `asks` until the peer confirms it, with its pong to the ping sent after it, or
    /// ends its side.
    bool asked = false;
    /// The id of a ping that came while the outbox was full.
    std::optional<std::uint64_t> pong_owed{};

    /// A ping after a goaway has another id than the ones before it, because their pongs do not confirm the
    /// goaway.
    std::uint64_t ping_id(std::uint64_t connection) const { return goaway_sent ? ~connection : connection; }
  };
  Life life_;
  FaultGate faults_;
};

/// Returns what identifies the connection among all of this process.
inline std::uint64_t connection_id_of(Session& session) {
  return session.calls_in().answers().connection_id();
}

}  // namespace weft::detail
