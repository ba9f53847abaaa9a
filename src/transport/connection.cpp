// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/connection.hpp"

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <new>
#include <string_view>
#include <utility>

#include "transport/bring_up.hpp"
#include "transport/heads_ahead.hpp"
#include "transport/receive_slice.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

LeasePolicy lease_policy(const Capabilities& capabilities) {
  return LeasePolicy{capabilities.lease_bytes_min, capabilities.gathers, capabilities.gathers_much};
}

// After this much, or a ReceiveSlice, a connection lets others have their turn.
constexpr std::size_t kReceiveBytesPerTurn = 256 * 1024;
constexpr std::size_t kSegmentsMin = Capabilities::kSegmentsMin;
static_assert(kSegmentsMin >= LeasePolicy::kGatheredRunsMax, "a piece that is gathered is shown whole");

constexpr FixedFailure kNoMemory{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kReconnect,
                                 "out of memory for the connection"};
constexpr FixedFailure kNoMemoryToReceive{StatusCode::kResourceExhausted, Layer::kTransport,
                                          Retry::kReconnect, "no memory to receive into"};

// Runs the work that the loop or a carrier requested. An exception for want of memory, here or in the sink,
// closes the connection.
template <typename Work>
[[gnu::always_inline]] inline void or_close(Connection& connection, Work work) noexcept {
  try {
    work();
  } catch (const std::bad_alloc&) {
    connection.close(Status::of<kNoMemory>());
  }
}

void close_if_failed(Connection& connection, Status status) {
  if (!status.ok()) connection.close(std::move(status));
}

Status lost(const Connection& connection, const char* what, int error) {
  try {
    return connection_lost(what, connection.remote_endpoint(), error);
  } catch (const std::bad_alloc&) {
    return connection_lost(what, "the peer", error);
  }
}

// Uses the stack for many segments only if there are many.
[[gnu::noinline]] Moved send_many(const Outbox& outbox, Carrier& carrier, std::size_t segments_max) {
  iovec pieces[Capabilities::kSegmentsMost];
  const std::size_t count = outbox.segments({pieces, std::min(segments_max, std::size(pieces))});
  return carrier.send({pieces, count}, outbox.leased_front());
}

// Passes the front of the queue to the carrier: a few segments, except for attachments of many runs.
[[gnu::always_inline]] inline Moved send_first(const Outbox& outbox, Carrier& carrier,
                                               const Capabilities& capabilities) {
  iovec pieces[kSegmentsMin];
  const std::size_t count = outbox.segments(pieces);
  if (count == kSegmentsMin && capabilities.segments_max > kSegmentsMin) [[unlikely]] {
    return send_many(outbox, carrier, capabilities.segments_max);
  }
  return carrier.send({pieces, count}, outbox.leased_front());
}

}  // namespace

struct Connection::BringingUp final : BringUpHost {
  BringingUp(Connection& its, std::shared_ptr<const CarrierChoices> carriers)
      : connection(its), bring_up(its.loop_, *this, *its.base_, std::move(carriers)) {}

  bool queue_carrier_frame(std::string_view frame) override {
    std::byte* const room = connection.outbox_.append(frame.size());
    if (room == nullptr) return false;
    std::copy_n(as_bytes(frame).begin(), frame.size(), room);
    // At once: the connection may end with it, and then it is what tells the peer why.
    send_what_is_queued();
    return true;
  }
  std::size_t queued_bytes() const override { return connection.outbox_.queued_bytes(); }
  void send_what_is_queued() override { connection.on_much_queued(); }
  void on_carrier_decided() override {
    or_close(connection, [this] { decided(); });
  }
  void on_bring_up_failed(Status why) override { connection.close(std::move(why)); }
  void on_peer_gone(int error) override { connection.on_peer_gone(error); }
  bool has_looked(TimePoint due) const noexcept override { return connection.has_looked(due); }

  void decided();
  /// Our last word on the base carrier has left: its bytes go by the other carrier from now on.
  void move();
  void hand_up_hello();

  Connection& connection;
  BringUp bring_up;
};

// On the base carrier the peer's next frame may lie behind its verdict. A new carrier comes into use at the
// end of a turn, outside the parsing, and behind our last message on the base carrier, which may still be
// queued.
void Connection::BringingUp::decided() {
  if (connection.ending()) return;
  connection.framer_.go_singly(false);
  if (!bring_up.moves()) {
    bring_up.shut();
    return hand_up_hello();
  }
  connection.state_ = State::kMoving;
  connection.framer_.pause(true);
  connection.loop_.at_turn_end(connection);
}

void Connection::BringingUp::move() {
  connection.state_ = State::kStarted;
  connection.framer_.pause(false);
  if (connection.framer_.inside()) return connection.close(bring_up.base_watch().stray_bytes());
  connection.carrier_ = &bring_up.move(connection);
  connection.capabilities_ = &connection.carrier_->capabilities();
  connection.send_wait_ = SendWait::kNone;
  connection.outbox_.suit(lease_policy(*connection.capabilities_),
                          connection.capabilities_->few_frames_bytes);
  hand_up_hello();
  if (connection.ending()) return;
  connection.backlog_.begin(connection.loop_.now(), connection.loop_.now());
  connection.readable_ = true;
  connection.schedule_work();
  bring_up.base_watch().look();
}

void Connection::BringingUp::hand_up_hello() {
  connection.receiver_ = connection.sink_;
  close_if_failed(connection, bring_up.hand_up_hello(*connection.sink_));
}

Connection::Work::Work(Connection& its) noexcept
    : Ready([](Ready* node) noexcept { static_cast<Work*>(node)->connection.work(); }), connection(its) {}

Connection::Connection(Loop& loop, const ConnectionOptions& options, std::unique_ptr<BaseCarrier> base)
    : ConnectionEnds(std::move(base)),
      loop_(loop),
      frame_limits_(options.frame_limits),
      carrier_(base_.get()),
      capabilities_(&carrier_->capabilities()),
      outbox_(loop.chunks(), this, lease_policy(*capabilities_), capabilities_->few_frames_bytes),
      framer_(loop.chunks(), frame_limits_, loop.turn_time().pieces_left()),
      peer_watch_(loop, *this, {options.stall_timeout, options.frame_timeout}) {
  carrier_->report_to(*this);
  if (options.carriers == nullptr) return;
  bringing_up_ = std::make_unique<BringingUp>(*this, options.carriers);
  framer_.go_singly(true);
}

// The carriers first, while their owner and their memory still exist.
Connection::~Connection() {
  bringing_up_.reset();
  base_.reset();
}

void Connection::start(FrameSink& sink, Bytes received) {
  WEFT_ASSERT(sink_ == nullptr, "a connection is started once");
  if (state_ == State::kMade) state_ = State::kStarted;
  sink_ = receiver_ = &sink;
  if (bringing_up_ != nullptr) {
    bringing_up_->bring_up.set_sink(sink);
    receiver_ = &bringing_up_->bring_up;
  }
  if (!received.empty()) {
    resume_ = framer_.begin_with(received);
    if (!resume_) return close(Status::of<kNoMemoryToReceive>());
  }
  if (peer_owes()) peer_watch_.owed(framer_.progress());
  backlog_.begin(loop_.now(), loop_.now());  // bytes that are already here have not waited
  readable_ = true;
  schedule_work();
}

std::vector<wire::CarrierOffer> Connection::carrier_offers() const {
  return bringing_up_ != nullptr ? bringing_up_->bring_up.candidates().offers()
                                 : std::vector<wire::CarrierOffer>{};
}

CarrierReport Connection::carrier_report() const {
  CarrierReport report{.description = carrier_->description()};
  if (bringing_up_ == nullptr) {
    if (const char* const why = base_->keeps_others_off()) report.reason = why;
    return report;
  }
  report.reason = bringing_up_->bring_up.reason();
  report.passed_over = bringing_up_->bring_up.candidates().passed_over();
  return report;
}

ConnectionStats Connection::stats() const noexcept {
  const ReceiveCounters& received = framer_.counters();
  const SendCounters& sent = outbox_.counters();
  return {.bytes_received = received.bytes.get(),
          .frames_received = received.frames.get(),
          .receives = received.receives.get(),
          .bytes_sent = sent.bytes.get(),
          .frames_sent = sent.frames.get(),
          .sends = sent.sends.get()};
}

// Bytes that the peer sent before may still be inside the carrier.
void Connection::on_peer_gone(int error) {
  if (ending()) return;
  peer_gone_ = true;
  if (receive_ended_) return close({});
  or_close(*this, [this] { carrier_->catch_up(); });
  on_readable();
  if (ending()) return;
  if (error != 0) return close(lost(*this, "the peer is gone: ", error));
  // A sender that waits for its queue to leave, and receives nothing meanwhile, would wait without end: not
  // every carrier reports a peer that accepts nothing any more.
  if (!pull_.all_sent()) close(lost(*this, "the peer is gone: ", EPIPE));
}

void Connection::pull_from(OutboxSource* source, std::uint32_t announcing) noexcept {
  if (sending_ >= Sending::kEnded) return;
  pull_.set(source, announcing);
  if (pull_.is_pulling() || !pull_.is_ready()) return;
  if (send_wait_ != SendWait::kForCarrier && !ending()) loop_.at_turn_end(*this);
}

void Connection::on_queued() noexcept {
  loop_.at_turn_end(*this);
}

// The sink is notified at the turn's end, because this may be inside a call by the sink.
void Connection::on_much_queued() noexcept {
  if (send_wait_ == SendWait::kForCarrier || ending() || pull_.is_pulling()) return;
  if (sending_ < Sending::kEnded) send_queued();
}

void Connection::use_checksums() {
  outbox_.attachment().use_checksums();
  framer_.use_checksums();
}

// Also while it is closing: until the carrier is shut, it may still receive straight into the landing.
void Connection::abandon_landing(Carrier::Lent what) {
  if (state_ == State::kClosed) return;
  const bool all = what == Carrier::Lent::kAhead;
  const Moved moved = carrier_->reclaim(what);  // memory read ahead was lent before its receive()
  if (moved.kind == Moved::Kind::kSome) {
    framer_.landed(moved.bytes);
    resume_ = true;  // it may have been the last of the frame
    schedule_work();
  }
  if (moved.kind == Moved::Kind::kFailed) close(lost(*this, "an abandoned attachment of ", moved.error));
  if (!all) framer_.abandon_landing();
}

void Connection::on_take_back() noexcept {
  if (state_ == State::kClosed) return;
  const Moved moved = carrier_->reclaim(Carrier::Lent::kSending);
  if (moved.kind == Moved::Kind::kSome) outbox_.consume(moved.bytes);
  if (moved.kind != Moved::Kind::kFailed || ending()) return;
  close(lost(*this, "taking memory back from ", moved.error));
  outbox_.release_all();  // nothing leaves any more, so nothing of it is worth a copy
}

Result<Buffer> Connection::landing_memory(std::size_t bytes) {
  Buffer memory = carrier_->landing_memory(bytes);
  if (!memory.empty()) return memory;
  return Buffer::try_allocate(bytes);
}

// The source holds nothing back any more for answers of the peer, which are not read: reading may go on only
// when parts of the source have left.
void Connection::pause_receiving() {
  framer_.pause(true);
  if (pull_.is_ready() && send_wait_ != SendWait::kForCarrier && !ending()) loop_.at_turn_end(*this);
}

void Connection::resume_receiving() {
  if (!framer_.pause(false)) return;
  resume_ = true;
  schedule_work();
}

void Connection::finish() {
  if (sending_ == Sending::kOpen) sending_ = Sending::kFinishing;
  if (send_wait_ != SendWait::kForCarrier) loop_.at_turn_end(*this);
}

void Connection::schedule_work() {
  if (!work_.is_scheduled()) loop_.schedule(work_);
}

void Connection::work() {
  put_off_ = false;
  if (pull_.begin_turn() && send_wait_ != SendWait::kForCarrier) loop_.at_turn_end(*this);
  if (resume_) peer_watch_.restart();
  or_close(*this, [this] {
    if (state_ != State::kMade && !ending()) receive_all();
  });
  if (sending_ == Sending::kFailed && !ending()) close(std::exchange(why_, {}));
  if (ending()) conclude();
}

// A peer that is gone sends nothing that could make this longer than it is.
void Connection::on_readable() {
  if (!readable_ && !put_off_) backlog_.begin(loop_.now(), loop_.turn_time().reported_before());
  readable_ = true;
  if (state_ == State::kMade || ending()) return;
  const TurnTime& turn = loop_.turn_time();
  if ((put_off_ || turn.has_missed() || turn.is_old()) && !peer_gone_) [[unlikely]] {
    return miss();
  }
  or_close(*this, [this] { receive_all(); });
  // At once: what runs later in this turn must not queue more for a peer that is known to be gone.
  if (ending()) conclude();
}

bool Connection::has_looked(TimePoint due) const noexcept {
  if (ending() || !receives()) return true;
  if (loop_.turn_time().reported() < due) return false;
  return backlog_.empty_at() >= due || (!readable_ && !put_off_ && !resume_);
}

// Goes on behind all who have more to do than they may in one turn.
void Connection::put_off() {
  put_off_ = true;
  if (!work_.is_scheduled()) loop_.turn_time().put_off(work_);
}

// The next turn serves this connection before connections that have events later.
void Connection::miss() {
  put_off_ = true;
  if (!work_.is_scheduled()) loop_.turn_time().miss(work_);
}

// Delivers bytes that were received before, then receives from the carrier.
void Connection::receive_all() {
  TurnTime& turn = loop_.turn_time();
  ReceiveSlice slice{turn.now()};
  std::size_t received = 0;
  while (!resume_ || hand_up(slice)) {
    if (!readable_ || ending() || receive_ended_ || !framer_.wants_bytes()) break;
    // Coroutines with an answer run before more is received, so that their next calls are sent earlier.
    if (received > 0 && (received >= kReceiveBytesPerTurn || slice.is_over() || loop_.has_ready())) {
      loop_.at_turn_end(*this);
      break;
    }
    turn.look_if_due();
    const Moved moved = receive_once();
    if (ending()) return;
    if (moved.kind == Moved::Kind::kEnded) return peer_ended();
    received += moved.bytes;
    // A landing of many small blocks takes little at a time, so bytes alone would not end the turn.
    if (framer_.attachment_left(true) > 0) [[unlikely]] {
      turn.did(1);
      slice.look(turn.now());
    }
    if (turn.pieces_left() == 0 && framer_.inside()) resume_ = true;
    if (!readable_ && !resume_) break;
  }
  if (ending()) return;
  if (!put_off_) framer_.park();
  if (peer_owes()) peer_watch_.owed(framer_.progress());
}

// Goes on with received frames, as long as the connection may. Returns true when all are delivered. The last
// bytes of a peer are taken completely, because there is no later turn for them.
[[gnu::noinline]] bool Connection::hand_up(ReceiveSlice& slice) {
  TurnTime& turn = loop_.turn_time();
  while (resume_) {
    if (ending() || receive_ended_ || !framer_.wants_bytes()) return false;
    turn.look_if_due();
    slice.look(turn.now());
    if (slice.is_over() && !peer_gone_ && sending_ != Sending::kFailed) {
      put_off();
      return false;
    }
    close_if_failed(*this, framer_.resume(*receiver_));
    resume_ = turn.pieces_left() == 0 && framer_.inside();
  }
  return true;
}

// Receives once, and delivers the frames that are whole. A failure has closed the connection.
Moved Connection::receive_once() {
  if (const std::uint64_t unwanted = framer_.attachment_left(false); unwanted > 0) [[unlikely]] {
    if (const std::size_t skipped = carrier_->skip(static_cast<std::size_t>(unwanted)); skipped > 0) {
      framer_.landed(skipped);
      close_if_failed(*this, framer_.received(0, *receiver_));
      return Moved::some(skipped, false);
    }
  }
  if (capabilities_->receives_in_place && framer_.between_frames()) {
    bool exhausted = false;
    if (ChunkRef chunk = carrier_->receive_in_place(exhausted)) {
      const Moved moved = Moved::some(chunk->capacity(), exhausted);
      readable_ = !exhausted || peer_gone_;
      if (backlog_.received(moved.bytes)) backlog_.mark(loop_.now());
      close_if_failed(*this, framer_.received_chunk(std::move(chunk), *receiver_));
      return moved;
    }
  }
  iovec places[AttachmentPlace::kPlacesMax];
  const std::size_t count = framer_.receive_into({places, capabilities_->landing_runs_max + 1});
  if (count == 0) {
    close(Status::of<kNoMemoryToReceive>());
    return {};
  }
  Moved moved = carrier_->receive({places, count}, {places, framer_.landing_places()});
  if (peer_gone_) {
    // There is no further event for more bytes, or for the end.
    moved.exhausted = false;
    if (moved.waits()) moved = Moved::ended();
  }
  readable_ = moved.kind == Moved::Kind::kSome && !moved.exhausted;
  if (moved.kind == Moved::Kind::kFailed) close(lost(*this, "receive from ", moved.error));
  // After kSome more of the landing may still be under way.
  if (moved.kind != Moved::Kind::kSome) {
    const std::uint64_t left = framer_.attachment_left(true);
    if (moved.kind == Moved::Kind::kBegun && left != 0) {
      HeadsAhead ahead{*receiver_, frame_limits_, framer_.attachment_bytes()};
      carrier_->read_ahead(static_cast<std::size_t>(left), ahead);
    }
    return moved;
  }
  if (backlog_.received(moved.bytes)) backlog_.mark(loop_.now());
  close_if_failed(*this, framer_.received(moved.bytes, *receiver_));
  if (const std::uint64_t left = framer_.attachment_left(true); left != 0 && !ending()) {
    receiver_->on_attachment_progress(left);
  }
  return moved;
}

void Connection::peer_ended() {
  Status status = framer_.ended();
  if (!status.ok()) return close(std::move(status));
  receive_ended_ = true;
  readable_ = false;
  framer_.park();
  if (sending_ == Sending::kFailed) return;  // work() closes with the recorded failure
  const bool sent = pull_.all_sent() || sending_ == Sending::kEnded;
  if (peer_gone_ || (sent && carrier_->all_left() && !owes_more())) return close({});
  if (send_wait_ != SendWait::kForCarrier) loop_.at_turn_end(*this);
}

void Connection::on_writable() {
  if (ending() || sending_ == Sending::kFailed) return;
  if (sending_ == Sending::kEnded) return end_if_due();
  if (std::exchange(send_wait_, SendWait::kNone) != SendWait::kNone) or_close(*this, [this] { flush(); });
}

// The queue need not wait for the turn's end.
void Connection::on_report_end() {
  if (TurnEndHook::queued() && state_ != State::kClosed && send_wait_ != SendWait::kForCarrier &&
      !outbox_.empty()) {
    or_close(*this, [this] { flush(); });
  }
}

void Connection::on_failed(Status why) {
  close(std::move(why));
}

void Connection::on_turn_end() {
  if (state_ == State::kClosed) return outbox_.release_all();
  outbox_.expect_little();
  if (send_wait_ != SendWait::kForCarrier) or_close(*this, [this] { flush(); });
  if (readable_ && !ending()) put_off();
}

void Connection::flush() {
  if (ending() || sending_ == Sending::kFailed) return;
  if (sending_ == Sending::kEnded) {
    // Frames queued after the end are dropped; waiters for room must be woken.
    outbox_.release_all();
    return after_flush();
  }
  send_queued();
  if (!ending() && sending_ != Sending::kFailed) after_flush();
}

void Connection::send_queued() {
  bool moved_some = false;
  send_wait_ = SendWait::kNone;
  std::size_t pulled = 0;
  for (;;) {
    std::size_t part = 0;
    if (pull_.is_ready()) [[unlikely]] {
      part = pull_.pull(pulled, !receive_ended_ && framer_.wants_bytes());
      pulled += part;
      if (pull_.is_put_off() && !work_.is_scheduled()) loop_.turn_time().put_off(work_);
      if (ending()) return;  // a part without memory: its frame in the queue is incomplete
    }
    if (outbox_.empty() || (send_wait_ == SendWait::kForMore && part == 0)) break;
    const Moved moved = peer_gone_ ? Moved::failed(EPIPE) : send_first(outbox_, *carrier_, *capabilities_);
    if (moved.kind == Moved::Kind::kFailed) {
      // The peer's last bytes may still be available, and are received first.
      why_ = lost(*this, "send to ", moved.error);
      sending_ = Sending::kFailed;
      readable_ = true;
      return schedule_work();
    }
    if (moved.kind != Moved::Kind::kSome) {
      const bool begun = moved.kind == Moved::Kind::kBegun;
      if (begun) outbox_.note_begun(moved.bytes);
      send_wait_ = begun && !moved.exhausted ? SendWait::kForMore : SendWait::kForCarrier;
      if (send_wait_ == SendWait::kForMore) continue;
      break;
    }
    send_wait_ = SendWait::kNone;
    moved_some = true;
    outbox_.consume(moved.bytes);
    if (pull_.others_left()) loop_.turn_time().company().came(loop_.turn_time().now());
    if (ending()) return;
    if (moved.exhausted) {
      send_wait_ = SendWait::kForCarrier;
      break;
    }
  }
  if (send_wait_ != SendWait::kNone) {
    peer_watch_.blocked(moved_some);
  } else {
    peer_watch_.unblocked();
  }
}

void Connection::after_flush() {
  if (outbox_.queued_bytes() < drained_below_) {
    drained_below_ = 0;
    if (sink_ != nullptr) sink_->on_drained();
    if (ending()) return;
  }
  if (!pull_.all_sent()) return;
  if (state_ == State::kMoving) return bringing_up_->move();
  end_if_due();
}

// Everything queued has left: ends our side if that was asked for, or the peer's end has to be answered, and
// the connection when both are over.
void Connection::end_if_due() {
  if (receive_ended_ && owes_more()) return;
  if (ending()) return;
  const bool answers = receive_ended_ && !carrier_->all_left();
  if (sending_ == Sending::kFinishing || (sending_ == Sending::kOpen && answers)) {
    sending_ = Sending::kEnded;
    pull_.set(nullptr);
    carrier_->end_sending();
  }
  if (receive_ended_ && carrier_->all_left()) close({});
}

void Connection::on_peer_stalled() {
  close({StatusCode::kUnavailable, Layer::kTransport, [this] {
           return remote_endpoint() + " stopped taking what is sent to it, " +
                  std::to_string(outbox_.queued_bytes()) + " bytes are queued";
         }});
}

void Connection::on_peer_late() {
  close({StatusCode::kUnavailable, Layer::kTransport,
         [this] { return remote_endpoint() + " began a frame or its hello and did not get on with it"; }});
}

void Connection::close(Status why) {
  if (ending()) return;
  state_ = State::kClosing;
  why_ = std::move(why);
  framer_.halt();
  loop_.unschedule(work_);  // from among the connections that were put off
  schedule_work();
}

// The queue stays in place: a frame may be being written.
void Connection::abandon() {
  sink_ = nullptr;
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  framer_.halt();
  loop_.unschedule(work_);
  peer_watch_.stop();
  TurnEndHook::unlink();
  pull_.set(nullptr);
  if (bringing_up_ != nullptr) bringing_up_->bring_up.shut();
  base_->shut();
  outbox_.release_leases();
}

void Connection::conclude() {
  if (std::exchange(state_, State::kClosed) != State::kClosed) {
    peer_watch_.stop();
    TurnEndHook::unlink();
    if (bringing_up_ != nullptr) bringing_up_->bring_up.shut();
    base_->shut();
    framer_.release();
    outbox_.release_all();
  }
  FrameSink* sink = std::exchange(sink_, nullptr);
  if (sink != nullptr) sink->on_closed(std::move(why_));
}

}  // namespace weft::detail
