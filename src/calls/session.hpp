// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "calls/calls_in.hpp"
#include "calls/calls_out.hpp"
#include "calls/fault_gate.hpp"
#include "calls/frame_output.hpp"
#include "calls/outgoing_transfers.hpp"
#include "calls/peer_seat.hpp"
#include "calls/requests_put_off.hpp"
#include "calls/requests_set_aside.hpp"
#include "calls/session_streams.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/calls/limits.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft::detail {

class Session;

/// Makes a session, hears of its events and destroys it, never inside a callback of the session: there it may
/// abandon() the session.
class SessionOwner {
 public:
  /// The hellos agree: calls may be made.
  virtual void on_session_ready(Session& session) = 0;
  /// The peer takes no new calls; those in flight go on.
  virtual void on_session_goaway(Session& session) = 0;
  /// A call may be sent again, after there was no room.
  virtual void on_session_room(Session& session) = 0;
  /// It is over, and all its calls have been told, but for those that end_some() tells. The last callback.
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
  /// This side made the connection: it says so when the peer requires a carrier that it does not offer. The
  /// accepting side leaves this check to the connecting side.
  bool connecting = false;
  /// The owner calls Session::end_some() turn by turn when it is over, so that many calls end in many turns.
  bool ends_in_slices = false;
  /// Our calls in flight at most, if that is less than `limits` say; zero: what the carrier says is the most
  /// that should share it.
  std::uint32_t calls_max = UINT32_MAX;
};

/// Returns how many calls of ours may be in flight on `connection`, whose carrier is settled.
std::uint32_t own_calls_max(const SessionSetup& setup, const Connection& connection);

/// Limits that the peer's hello named.
struct PeerLimits {
  std::uint32_t body_bytes_max = 0;
  std::uint64_t attachment_bytes_max = 0;
};

/// Returns the options of a connection that follow from `limits`.
ConnectionOptions connection_options(const RpcLimits& limits);

/// End of many calls of a connection that is gone, of which some have not been told yet.
struct SessionEnding {
  Status why;
  std::uint64_t handed_over;
  /// Slot of the table from which on our calls have not been told.
  std::uint32_t slot = 0;
};

struct SessionTag;

/// One connection with its calls in both directions. Knows the hello, liveness and the end; the calls
/// themselves are CallsOut (ours) and CallsIn (the peer's).
///
///   kHello --both hellos agree--> kReady --goaway sent or received--> kDraining --> kClosed
///                                   '------the peer ended its side-----> kHalfClosed ---^
///
/// kHalfClosed lasts as long as handlers have answers to give. A peer that only ended its side takes them;
/// from one that is gone a ping brings the end of the connection, by the system's word. In kClosed many calls
/// may still be there that were not told yet: what they send goes nowhere.
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
  /// New calls may be queued: ready, and there is room for what they send.
  bool has_room() { return state_ == State::kReady && output_.has_room() && out_.has_place(); }

  /// Tells the peer to make no new calls here; those that come all the same are served. A peer that has said
  /// no hello has little time left to say it, and is to be told then. One that has, if `asks`, is asked to
  /// say when it has heard that.
  void send_goaway(std::string_view reason, bool asks = false);
  /// Calls may be on their way that the peer sent before it heard a goaway that asks.
  bool may_be_called() const { return life_.asked; }
  /// Nothing of ours is in flight and nothing of theirs runs: ends our side once all is sent.
  void finish();
  /// Called after its end: tells as many of its calls as `left` says, and counts them down. False when some
  /// are left.
  bool end_some(std::size_t& left) noexcept;

  /// Ends it now: the owner hears of nothing any more, all calls have ended, and no memory of others is used.
  /// Also inside the session's callbacks, where the session itself has to stay until they have returned.
  void abandon() noexcept;
  /// Ends it soon: on_session_closed comes from the loop.
  void close(Status why);
  /// The same, and the peer is told how much of what it sent was taken, if that can be sent at once: it knows
  /// then which of its calls have not run. Not from inside what a frame of the peer's caused.
  void close_with_goaway(const Status& why);
  /// Counts what the peer sent and was refused, and logs it, but for what comes too fast: see FaultGate.
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
  /// This side wants no requests, and neither side has said or ended more than that.
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
    // An attachment that comes whole goes by way of a chunk.
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

  Status take_frames(std::span<const Frame> frames, const ChunkRef& chunk);
  bool put_off(std::span<const Frame> frames, const ChunkRef& chunk);
  bool set_aside(const Frame& request);
  /// Takes the frame at `at`, which is neither request nor answer; of an item's also those behind it that are
  /// of its stream. Sets `at` to the last one that was taken.
  Status on_other(std::span<const Frame> frames, std::size_t& at, const ChunkRef& chunk);
  void watch_peer();

  SessionSetup setup_;
  std::unique_ptr<Connection> connection_;
  FrameOutput output_;
  OutgoingTransfers transfers_{*connection_, output_};
  SessionStreams streams_{*this, output_};
  PeerSeat seat_;
  CallsOut out_{*this};
  CallsIn in_;
  std::unique_ptr<RequestsPutOff> put_off_;
  /// Null unless there are some.
  std::unique_ptr<RequestsSetAside> set_aside_;
  /// Null unless some of many calls have not been told yet.
  std::unique_ptr<SessionEnding> ending_;
  PeerLimits peer_;
  State state_ = State::kHello;
  bool abandoned_ = false;
  /// Signs of life, of the peer's and of ours.
  struct Life {
    bool heard = false;
    bool pinged = false;
    bool goaway_sent = false;
    /// This side has ended, or ends once all is sent.
    bool finished = false;
    /// Says whether the peer has heard that; its pong to a ping behind it says so.
    bool asked = false;
    /// The id of a ping that came while the outbox was full.
    std::optional<std::uint64_t> pong_owed{};

    /// A ping that follows a goaway can be told from those before, whose pongs say nothing of it.
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
