// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"
#include "weft/detail/transport/backlog.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/carrier.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/carrier_report.hpp"
#include "weft/detail/transport/connection_counters.hpp"
#include "weft/detail/transport/connection_stats.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/transport/outbox.hpp"
#include "weft/detail/transport/outbox_pull.hpp"
#include "weft/detail/transport/peer_watch.hpp"
#include "weft/detail/transport/stream_framer.hpp"
#include "weft/detail/wire/frame.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class ReceiveSlice;
class StreamFilter;

struct ConnectionOptions {
  wire::FrameLimits frame_limits{};
  /// The peer may leave queued bytes untaken for so long before the connection ends with kUnavailable.
  Duration stall_timeout = std::chrono::seconds{30};
  /// The longest time from a frame's (or the hello's) first byte to progress being made. Progress
  /// is a whole head, every 64 KiB of a body, and of an attachment every 64 KiB or 1024th part of it,
  /// whichever is more: an attachment of any length is there after 1025 times this, or its connection ends.
  Duration frame_timeout = std::chrono::seconds{10};
  /// Carriers that may take the place of the base carrier; null = none.
  std::shared_ptr<const CarrierChoices> carriers{};
  /// Stands between the connection and its base carrier; null = nothing does.
  std::shared_ptr<const StreamFilter> filter{};
};

/// Base carrier of a connection, and its description of both ends, independent of the carrier that takes
/// over.
class ConnectionEnds {
 public:
  /// Returns both ends as URLs, for people: "tcp://127.0.0.1:4242".
  std::string local_endpoint() const { return base_->local_endpoint(); }
  std::string remote_endpoint() const { return base_->remote_endpoint(); }
  /// Returns who the peer was proven to be. Settled once on_hello is called.
  Identity peer_identity() const noexcept { return base_->peer_identity(); }

 protected:
  explicit ConnectionEnds(std::unique_ptr<BaseCarrier> base) noexcept : base_(std::move(base)) {}
  ~ConnectionEnds() = default;

  /// Carried the first bytes; also the way to talk about another carrier.
  std::unique_ptr<BaseCarrier> base_;
};

/// A connection that carries frames in order, whole or not at all, over a Carrier: an outbox and a framer,
/// with the states, endings, timeouts and backpressure of both. Belongs to one loop. May be destroyed at any
/// time outside the callbacks of its sink and of its leases; destruction releases every lease and calls the
/// sink no more. Inside these callbacks abandon() does that.
///
///                      decided for another
///   made --start()--> started ----------> moving     moving: queued bytes still leave by the base carrier
///     |                |   ^                | |
///     |                |   '-- it has left -' |
///     '----------------+----------------------'
///                      |  close(), a failure, or both sides have ended
///                      v
///                   closing                      closing: nothing is received, sent or delivered any more
///                      |  the loop's next turn
///                      v
///                    closed                      closed: the carriers are shut, every lease is released,
///                                                and the sink has received on_closed()
///
///   sending    open --finish()--> finishing --the last byte left--> ended      --send() failed--> failed
///   receiving  open --the peer's end--> ended: queued bytes and the answers that the sink owes
///                                       (FrameSink::owes_more()) are still sent, then the connection closes
///
/// The amount that one turn of the loop takes from the peer is bounded (ReceiveSlice). The rest waits, even
/// if already received, behind other connections with more than their share; a connection with little to
/// receive never waits behind these.
///
/// The connection begins on its base carrier. With ConnectionOptions::carriers another carrier may take over
/// after the hellos; the base carrier stays for its endpoints and its end, which is the peer's: the
/// connection sends and receives nothing on it after the move, and a BaseWatch looks for that end.
class Connection final : public ConnectionEnds,
                         private CarrierOwner,
                         private OutboxDrain,
                         private TurnEndHook,
                         private PeerWatchOwner {
 public:
  /// `base` has no owner yet.
  Connection(Loop& loop, const ConnectionOptions& options, std::unique_ptr<BaseCarrier> base);
  ~Connection();

  /// Begins to receive; `sink` must outlive the connection or its on_closed. Once. `received` are bytes that
  /// the carrier gave before, at most Stash::kBytesMax.
  void start(FrameSink& sink, Bytes received = {});
  /// Returns what our hello is to offer beside the base carrier.
  std::vector<wire::CarrierOffer> carrier_offers() const;
  /// The queue of frames to be sent: our hello first, and nothing behind it before on_hello. They leave
  /// at the end of the loop's turn, or sooner when they are many.
  Outbox& outbox() { return outbox_; }
  /// Sends the bytes of `source` besides the queued bytes, piece by piece: a bounded share of each turn. Call
  /// it again when the source has more after it was empty. Null: no source. The source outlives the
  /// connection's on_closed. `announcing` is the number of queued frames, not counted before, that only
  /// accompany the bytes of this source or of the peer's; they do not count as other traffic (Company).
  void pull_from(OutboxSource* source, std::uint32_t announcing = 0) noexcept;
  /// Frames in both directions carry checksums from now on (the hellos agreed). Called inside on_hello.
  void use_checksums();
  /// Takes the memory of the landing attachment back; the rest of the attachment is skipped. Valid only
  /// between an on_attachment that returned kInto and on_attachment_end (with landed = false then). With
  /// kAhead, at any time: no more bytes are written to memory that on_attachment_ahead() returned, and memory
  /// named for frames that the sink will skip is no longer used.
  void abandon_landing(Carrier::Lent what = Carrier::Lent::kLanding);
  /// Returns true if lent memory can be taken back now without waiting for a device. If not, requests it from
  /// the carrier, so that a later call returns true.
  bool gives_back_at_once(Carrier::Lent what) {
    return state_ == State::kClosed || carrier_->gives_back_at_once(what);
  }
  /// Makes memory for an attachment of `bytes` to land in, of a kind that the carrier can transfer fast. It
  /// counts in no budget, and may outlive the connection. Errors: as Buffer::try_allocate().
  Result<Buffer> landing_memory(std::size_t bytes);
  /// Calls on_drained() of the sink after the next time that bytes are sent and at most `bytes` are queued.
  /// Several requests are served together when the first of them is met.
  void tell_when_drained(std::size_t bytes) noexcept { drained_below_ = std::max(drained_below_, bytes + 1); }
  /// Stops and restarts taking frames from the peer: backpressure on a peer that asks for more than it may.
  void pause_receiving();
  void resume_receiving();
  /// Sends the queued bytes, then ends the sending side; receiving goes on until the peer ends its own. If
  /// the peer ends first, queued bytes and owed answers are still sent before on_closed.
  void finish();
  /// Ends both sides soon, without sending the queued bytes; on_closed(why) comes from the loop, not from
  /// this call.
  void close(Status why);

  /// Ends both sides now: the carriers are shut, every lease is released, and the sink is called no more.
  /// Also inside the sink's callbacks, where the connection itself has to stay until they have returned.
  void abandon();

  /// Returns a time before which no byte that is delivered now had arrived, to within a turn of the loop: the
  /// last time that the receive queue was empty, or a later time since when at least 8 MiB were received.
  TimePoint behind_since() const { return backlog_.since(); }
  /// Returns a time at which there was surely nothing to receive, never after behind_since(). A late loop
  /// hears of arrivals late, so this is the longest time for which a request may have waited. A peer that was
  /// silent may have sent it just now: arrived_by() gives the shortest time.
  TimePoint empty_at() const { return backlog_.empty_at(); }
  /// Returns the result of Carrier::arrived_by().
  TimePoint arrived_by(TimePoint now) const { return carrier_->arrived_by(now); }
  /// Returns whether all bytes that had arrived by `due` have been received, or are not to be received.
  /// A timer that judges the peer at `due` asks this first, and asks again in the next turn after false: the
  /// loop is late, and the peer may be well.
  bool has_looked(TimePoint due) const noexcept override;

  /// Position in the byte stream that is received at which the first frame begins that the sink was not
  /// handed, or not whole.
  std::uint64_t handed_up() const { return framer_.handed_up(); }

  /// Traffic counters of the connection. Any thread, as long as the connection exists.
  ConnectionStats stats() const noexcept;

  /// True while the peer has not ended its side and its bytes are accepted: receiving is not paused.
  bool receives() const override { return framer_.wants_bytes() && !receive_ended_; }
  /// Takes no bytes from the peer, because of pause_receiving().
  bool is_paused() const noexcept { return !framer_.wants_bytes() && !receive_ended_; }
  /// True while bytes are under way: some are queued, or the peer owes the rest of a frame. The connection's
  /// own timeouts watch the peer then; a ping would only wait behind the bytes.
  bool is_moving() const {
    return (!outbox_.empty() && sending_ < Sending::kEnded) || (framer_.inside() && framer_.wants_bytes());
  }

  /// The carrier's. Settled once on_hello is called.
  const Capabilities& capabilities() const { return *capabilities_; }
  /// Says what carries the bytes, and why; valid from on_hello until the connection ends. It makes strings,
  /// so it is not for where things have to be fast.
  CarrierReport carrier_report() const;

 private:
  enum class State : std::uint8_t { kMade, kStarted, kMoving, kClosing, kClosed };
  enum class Sending : std::uint8_t { kOpen, kFinishing, kEnded, kFailed };
  /// Reason for which queued bytes have not left: all of them are started, so that more may follow, or the
  /// carrier accepts nothing.
  enum class SendWait : std::uint8_t { kNone, kForMore, kForCarrier };
  struct Work : Ready {
    explicit Work(Connection& its) noexcept;
    Connection& connection;
  };
  /// Brings another carrier up for this connection, and moves it there.
  struct BringingUp;

  // The carrier reports.
  void on_readable() override;
  void on_writable() override;
  void on_report_end() override;
  void on_failed(Status why) override;
  // The outbox reports.
  void on_queued() noexcept override;
  void on_much_queued() noexcept override;
  void on_take_back() noexcept override;
  void on_turn_end() override;
  // The watch of the peer asks and reports.
  bool waits_to_send() const noexcept override { return send_wait_ != SendWait::kNone && !ending(); }
  bool peer_owes() const noexcept override {
    return !receive_ended_ && !put_off_ && framer_.inside() && framer_.wants_bytes();
  }
  void on_peer_stalled() override;
  void on_peer_late() override;

  bool ending() const noexcept { return state_ >= State::kClosing; }
  void work();
  void schedule_work();

  void on_peer_gone(int error);

  void receive_all();
  bool hand_up(ReceiveSlice& slice);
  void put_off();
  void miss();
  Moved receive_once();
  void peer_ended();

  void flush();
  void send_queued();
  void after_flush();
  void end_if_due();
  bool owes_more() const { return sending_ == Sending::kOpen && sink_ != nullptr && sink_->owes_more(); }

  void conclude();

  Loop& loop_;
  const wire::FrameLimits frame_limits_;
  /// Carries the bytes: the base carrier, or the carrier that took over from it.
  Carrier* carrier_;
  const Capabilities* capabilities_;
  FrameSink* sink_ = nullptr;
  /// Receives the frames: the sink, or before that the code that brings another carrier up.
  FrameSink* receiver_ = nullptr;
  Outbox outbox_;
  OutboxPull pull_{outbox_};
  StreamFramer framer_;
  Work work_{*this};
  Status why_;
  Backlog backlog_;
  PeerWatch peer_watch_;
  /// The sink waits until fewer bytes are queued; 0: for nothing.
  std::size_t drained_below_ = 0;
  State state_ = State::kMade;
  Sending sending_ = Sending::kOpen;
  bool receive_ended_ = false;
  bool readable_ = false;
  SendWait send_wait_ = SendWait::kNone;
  /// Whole frames that were received may wait to be handed up.
  bool resume_ = false;
  /// Its part of a turn was over, or the turn was old: it goes on in a later one, see TurnTime.
  bool put_off_ = false;
  /// The base carrier beside another has ended: nothing more arrives on the carrier either.
  bool peer_gone_ = false;
  std::unique_ptr<BringingUp> bringing_up_;
};

}  // namespace weft::detail
