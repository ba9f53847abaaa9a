// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calls/call/calls_out.hpp"
#include "calls/gate/fault_gate.hpp"
#include "calls/peers/peer_seat.hpp"
#include "calls/sending/session_link.hpp"
#include "calls/serve/calls_in.hpp"
#include "calls/session/requests_put_off.hpp"
#include "calls/session/requests_set_aside.hpp"
#include "calls/stream/session_streams.hpp"
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

/// Returns the limit for our calls in flight on `connection`, after its carrier was chosen; `calls_max` as in
/// SessionSetup.
std::uint32_t own_calls_max(const RpcLimits& limits, std::uint32_t calls_max, const Connection& connection);

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
class Session final : public SessionLink, public ListHook<SessionTag>, private FrameSink, private Timer {
 public:
  Session(const SessionSetup& setup, std::unique_ptr<Connection> connection, std::uint64_t connection_id);
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Sends our hello and begins to receive. `received` are bytes that the carrier gave before.
  void start(Bytes received = {}) noexcept;

  /// Asks the peer to send no new calls; calls that still arrive are served. Before the peer's hello nothing
  /// is sent, and the peer gets little time for its hello: the owner must call this again in
  /// on_session_ready(). With `asks` the peer is also pinged, to confirm that it has received the goaway.
  void send_goaway(std::string_view reason, bool asks = false);
  /// Returns true if calls may be in flight that the peer sent before it received a goaway with `asks`.
  bool may_be_called() const { return life_.asked; }
  void finish() override;
  /// Called after its end: notifies up to `left` of its calls, and decrements `left` for each. Returns false
  /// when some remain.
  bool end_some(std::size_t& left) noexcept;

  /// Ends the session now: the owner is not notified any more, all calls have ended, and no memory of others
  /// is used. May be called inside the session's callbacks, but the session must stay until they have
  /// returned.
  void abandon() noexcept;
  void close_with_goaway(const Status& why) override;
  void count_refusal(RefusalReason reason, const Status& why) override;
  void notify_room() override { owner_.on_session_room(*this); }
  bool serves_last_calls() override;
  SessionStreams& streams() override { return streams_; }
  ConnectionStats traffic() const noexcept override;
  PeerSeat& seat() override { return seat_; }
  const std::shared_ptr<PeerTarget>& peer_target() override;

  /// Returns true if new calls may be queued.
  bool has_room() const { return out_.has_room(); }
  CallsHost& host() const { return host_; }
  CallsOut& calls_out() { return out_; }
  /// Returns the peer's calls, made on first use on a side without methods. Throws std::bad_alloc.
  CallsIn& calls_in() {
    if (in_ == nullptr) [[unlikely]] {
      make_calls_in();
    }
    return *in_;
  }
  /// Returns how many requests the peer has sent, modulo 2^32.
  std::uint32_t requests() const { return in_ != nullptr ? in_->answers().requests() : 0; }
  /// Returns true while the peer waits for answers.
  bool owes_answers() { return in_ != nullptr && in_->calls().has_unanswered(); }

 private:
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
    if (in_ != nullptr) in_->on_request_attachment_progress(left);
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
  void make_calls_in();
  /// Passes the outcome of the hellos on to the peer's calls.
  void introduce_peer();

  /// Returns the stream of a frame, null when its call has ended. For a call without a stream sets `breach`,
  /// which reports that `frame` is misplaced.
  StreamSide* find_stream(std::uint64_t id, bool of_answer, std::string_view frame, Status& breach) const;
  Result<Landing> place_of(wire::PieceView piece);

  SessionOwner& owner_;
  CallsHost& host_;
  const Duration hello_timeout_;
  const std::uint32_t calls_max_;
  const bool checksums_;
  const bool connecting_;
  const bool ends_in_slices_;
  bool abandoned_ = false;
  /// The features that the hellos agreed on.
  std::uint64_t features_ = 0;
  SessionStreams streams_{*this};
  PeerSeat seat_;
  CallsOut out_;
  /// Null on a side without methods, as most clients are, until the peer sends a request.
  std::unique_ptr<CallsIn> in_;
  std::unique_ptr<RequestsPutOff> put_off_;
  /// Null unless there are some.
  std::unique_ptr<RequestsSetAside> set_aside_;
  /// Null unless some of many calls have not been notified yet.
  std::unique_ptr<SessionEnding> ending_;
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

}  // namespace weft::detail
