// SPDX-License-Identifier: Apache-2.0
#include "transport/stream_connection.hpp"

#include <algorithm>
#include <utility>

#include "weft/base/assert.hpp"

namespace weft {

namespace {

// After this much a connection lets others have their turn.
constexpr std::size_t kReceiveBytesPerTurn = 1024 * 1024;
// On its way to this side, and not received: more than the buffers of the kernels grow to by themselves.
constexpr std::size_t kStreamHoldsAtMost = 8 * 1024 * 1024;
constexpr std::size_t kSegmentsMax = 64;

}  // namespace

StreamConnection::Work::Work(StreamConnection& its) noexcept
    : Ready([](Ready* node) noexcept { static_cast<Work*>(node)->connection.work(); }), connection(its) {}

StreamConnection::StreamConnection(Loop& loop, const ConnectionOptions& options,
                                   const Capabilities& capabilities)
    : loop_(loop),
      options_(options),
      capabilities_(capabilities),
      outbox_(loop.chunks(), this, capabilities.lease_bytes_min),
      framer_(loop.chunks(), options_.frame_limits) {
  if (options_.paths == nullptr) return;
  switch_ = std::make_unique<PathSwitch>(loop, static_cast<PathSwitchHost&>(*this), options_.paths);
  framer_.go_singly(true);
}

StreamConnection::~StreamConnection() {
  // While what its owner is told by still stands.
  switch_.reset();
}

void StreamConnection::start(FrameSink& sink) {
  WEFT_ASSERT(sink_ == nullptr, "a connection is started once");
  sink_ = &sink;
  if (switch_ != nullptr) switch_->set_sink(sink);
  watch_peer();
  readable_ = true;
  schedule_work();
}

std::vector<wire::DataPathOffer> StreamConnection::path_offers() const {
  return switch_ != nullptr ? switch_->offers() : std::vector<wire::DataPathOffer>{};
}

void StreamConnection::on_queued() noexcept {
  loop_.at_turn_end(*this);
}

// What follows from it for the sink is said at the turn's end: this may be a call that the sink makes.
void StreamConnection::on_much_queued() noexcept {
  if (!write_blocked_ && !closing_ && !send_failed_ && !send_ended_) send_queued();
}

void StreamConnection::use_checksums() {
  outbox_.use_checksums();
  framer_.use_checksums();
}

// Also while it is closing: until the path is shut, it may still receive straight into the landing.
void StreamConnection::abandon_landing() {
  if (shut_) return;
  if (path_ != nullptr) {
    const Moved moved = path_->reclaim_landing();
    if (moved.kind == Moved::Kind::kSome) {
      framer_.landed(moved.bytes);
      resume_ = true;  // it may have been the last of the frame
      schedule_work();
    }
    if (moved.kind == Moved::Kind::kFailed) fail(io_failure("an abandoned attachment of ", moved.error));
  }
  framer_.abandon_landing();
}

void StreamConnection::pause_receiving() {
  framer_.pause();
}

void StreamConnection::resume_receiving() {
  if (!framer_.paused()) return;
  framer_.unpause();
  resume_ = true;
  schedule_work();
}

void StreamConnection::finish() {
  finish_ = true;
  if (!write_blocked_) loop_.at_turn_end(*this);
}

void StreamConnection::close(Status why) {
  fail(std::move(why));
}

void StreamConnection::schedule_work() {
  if (!work_.is_scheduled()) loop_.schedule(work_);
}

void StreamConnection::work() {
  if (!closing_ && resume_ && sink_ != nullptr) resume_parsing();
  if (!closing_ && readable_ && sink_ != nullptr) receive_all();
  if (!closing_ && send_failed_) fail(std::exchange(why_, {}));
  if (closing_) conclude();
}

void StreamConnection::resume_parsing() {
  resume_ = false;
  frame_progress_ = ~std::uint64_t{0};  // the peer could not get on while we did not let it
  Status status = framer_.resume(framer_sink());
  if (!status.ok()) return fail(std::move(status));
  if (closing_) return;
  framer_.park();
  watch_peer();
}

void StreamConnection::readable() {
  if (path_ != nullptr) return check_stream();
  receive_more();
}

void StreamConnection::receive_more() {
  if (!readable_) {
    behind_since_ = behind_mark_ = loop_.now();
    behind_bytes_ = 0;
  }
  readable_ = true;
  if (sink_ == nullptr || closing_) return;
  receive_all();
  // At once: what runs later in this turn must not queue more for a peer that is known to be gone.
  if (closing_) conclude();
}

void StreamConnection::receive_all() {
  std::size_t received = 0;
  while (!closing_ && !receive_ended_ && framer_.wants_bytes()) {
    // Those who were answered go on before more is received: their next calls leave the sooner.
    if (received >= kReceiveBytesPerTurn || (received > 0 && loop_.has_ready())) {
      loop_.at_turn_end(*this);
      break;
    }
    const Moved moved = receive_once();
    if (closing_) return;
    if (moved.kind == Moved::Kind::kEnded) return peer_ended();
    received += moved.bytes;
    if (!readable_) break;
  }
  if (closing_) return;
  framer_.park();
  watch_peer();
}

// Receives once, and hands up what is whole then. A failure has closed the connection.
Moved StreamConnection::receive_once() {
  if (path_ != nullptr && framer_.between_frames()) {
    bool exhausted = false;
    if (ChunkRef chunk = path_->receive_in_place(exhausted)) {
      const Moved moved = Moved::some(chunk->capacity(), exhausted);
      readable_ = !exhausted || stream_gone_;
      note_progress(moved.bytes);
      close_if_failed(framer_.received_chunk(std::move(chunk), framer_sink()));
      return moved;
    }
  }
  iovec places[2];
  const std::size_t count = framer_.receive_into(places);
  if (count == 0) {
    fail({StatusCode::kResourceExhausted, Layer::kTransport, "no memory to receive into", 0,
          Retry::kReconnect});
    return {};
  }
  const Moved moved = receive_some({places, count});
  readable_ = moved.kind == Moved::Kind::kSome && !moved.exhausted;
  if (moved.kind == Moved::Kind::kFailed) fail(io_failure("receive from ", moved.error));
  if (moved.kind != Moved::Kind::kSome) return moved;
  note_progress(moved.bytes);
  close_if_failed(framer_.received(moved.bytes, framer_sink()));
  return moved;
}

void StreamConnection::close_if_failed(Status status) {
  if (!status.ok()) fail(std::move(status));
}

// As much as a stream holds has been received since the last mark: what comes now was sent after it.
void StreamConnection::note_progress(std::size_t bytes) {
  behind_bytes_ += bytes;
  if (behind_bytes_ < kStreamHoldsAtMost) return;
  behind_bytes_ = 0;
  behind_since_ = std::exchange(behind_mark_, loop_.now());
}

void StreamConnection::peer_ended() {
  Status status = framer_.ended();
  if (!status.ok()) return fail(std::move(status));
  receive_ended_ = true;
  readable_ = false;
  framer_.park();
  if (send_failed_) return;  // work() closes with what was wrong there
  if (stream_gone_ || (path_ == nullptr && (outbox_.empty() || send_ended_))) return fail({});
  if (!write_blocked_) loop_.at_turn_end(*this);
}

void StreamConnection::writable() {
  if (path_ != nullptr || !std::exchange(write_blocked_, false)) return;
  flush();
}

void StreamConnection::send_now() {
  if (TurnEndHook::queued() && !shut_ && !write_blocked_ && !outbox_.empty()) flush();
}

void StreamConnection::on_turn_end() {
  if (shut_) return outbox_.release_all();
  outbox_.expect_little();
  if (!write_blocked_) flush();
  if (readable_ && !closing_) schedule_work();
}

void StreamConnection::flush() {
  if (closing_ || send_failed_) return;
  if (send_ended_) {
    if (outbox_.queued_bytes() > options_.outbox_high_water) above_high_water_ = true;
    // What is queued after the end goes nowhere; whoever waits for room has to hear that there is some.
    outbox_.release_all();
    return after_flush();
  }
  send_queued();
  if (!closing_ && !send_failed_) after_flush();
}

void StreamConnection::send_queued() {
  bool moved_some = false;
  while (!outbox_.empty()) {
    if (outbox_.queued_bytes() > options_.outbox_high_water) above_high_water_ = true;
    iovec pieces[kSegmentsMax];
    const std::size_t count = outbox_.segments(pieces);
    const Moved moved = send_some({pieces, count});
    if (moved.kind == Moved::Kind::kFailed) return sending_failed(moved.error);
    if (moved.kind != Moved::Kind::kSome) {
      write_blocked_ = true;
      break;
    }
    moved_some = true;
    outbox_.consume(moved.bytes);
    if (closing_) return;
  }
  if (write_blocked_) {
    if (moved_some || send_since_ == TimePoint{}) send_since_ = loop_.now();
    arm_by(Deadline::after(send_since_, options_.stall_timeout).at());
  } else {
    send_since_ = {};
  }
}

void StreamConnection::after_flush() {
  if (above_high_water_ && outbox_.queued_bytes() <= options_.outbox_high_water / 2) {
    above_high_water_ = false;
    if (sink_ != nullptr) sink_->on_drained();
    if (closing_) return;
  }
  if (!outbox_.empty()) return;
  if (moving_to_path_) return move_to_path();
  end_if_due();
}

// Everything queued has left: ends our side if that was asked for, and the connection when the peer's is
// over.
void StreamConnection::end_if_due() {
  if ((finish_ || (path_ != nullptr && receive_ended_)) && !send_ended_) {
    send_ended_ = true;
    path_ != nullptr ? path_->end_sending() : end_sending();
  }
  if (receive_ended_ && (path_ == nullptr || path_->all_left())) fail({});
}

// What the peer had said before it went may still be there; that is received first.
void StreamConnection::sending_failed(int error) {
  why_ = io_failure("send to ", error);
  send_failed_ = true;
  send_ended_ = true;
  readable_ = true;
  schedule_work();
}

void StreamConnection::broken(int error) {
  if (!closing_) fail(io_failure("connection to ", error));
}

void StreamConnection::watch_peer() {
  if (receive_ended_ || !framer_.inside() || !framer_.wants_bytes()) return;
  const std::uint64_t progress = framer_.progress();
  if (progress != frame_progress_) {
    frame_progress_ = progress;
    frame_since_ = loop_.now();
  }
  arm_by(Deadline::after(frame_since_, options_.frame_timeout).at());
}

// One timer for all: it is moved only to an earlier time, and looks when it fires whether anything is late.
void StreamConnection::arm_by(TimePoint at) {
  if (at == TimePoint::max() || (Timer::armed() && Timer::at() <= at)) return;
  loop_.arm(*this, at);
}

void StreamConnection::on_timer() {
  if (closing_) return;
  const TimePoint next = std::min(check_stall(), check_frame());
  if (!closing_) arm_by(next);
}

TimePoint StreamConnection::check_stall() {
  if (!write_blocked_) return TimePoint::max();
  const TimePoint due = Deadline::after(send_since_, options_.stall_timeout).at();
  if (due > loop_.now()) return due;
  fail({StatusCode::kUnavailable, Layer::kTransport,
        remote_endpoint() + " stopped taking what is sent to it, " + std::to_string(outbox_.queued_bytes()) +
            " bytes are queued"});
  return TimePoint::max();
}

TimePoint StreamConnection::check_frame() {
  if (receive_ended_ || !framer_.inside() || !framer_.wants_bytes()) return TimePoint::max();
  const TimePoint due = Deadline::after(frame_since_, options_.frame_timeout).at();
  if (due > loop_.now()) return due;
  fail({StatusCode::kUnavailable, Layer::kTransport,
        remote_endpoint() + " began a frame or its hello and did not get on with it"});
  return TimePoint::max();
}

void StreamConnection::fail(Status why) {
  if (closing_) return;
  closing_ = true;
  why_ = std::move(why);
  framer_.halt();
  schedule_work();
}

void StreamConnection::conclude() {
  if (!std::exchange(shut_, true)) {
    loop_.disarm(*this);
    TurnEndHook::unlink();
    if (switch_ != nullptr) switch_->shut();
    shut();
    framer_.release();
    outbox_.release_all();
  }
  FrameSink* sink = std::exchange(sink_, nullptr);
  if (sink != nullptr) sink->on_closed(std::move(why_));
}

Status StreamConnection::io_failure(const char* what, int error) const {
  Status status = errno_status(Layer::kTransport, what + remote_endpoint(), error);
  if (status.code() == StatusCode::kUnavailable) return status;
  return {StatusCode::kUnavailable, Layer::kTransport, std::string{status.message()}, error};
}

}  // namespace weft
