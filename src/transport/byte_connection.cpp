// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/byte_connection.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

/// Number of received bytes after which other connections of the loop have their turn.
constexpr std::size_t kBytesPerTurn = 256 * 1024;
/// Time that a peer has to end its side after this side has ended: longer only costs a descriptor.
constexpr Duration kLinger = std::chrono::milliseconds{500};

/// Number of places of pieces that have left before they are given up.
constexpr std::size_t kPlacesKept = 64;

constexpr FixedFailure kNoMemoryForBytes{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kReconnect,
                                         "out of memory for the connection"};
constexpr FixedFailure kLingered{StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
                                 "the peer did not end the connection after this side had"};

}  // namespace

ByteConnection::Work::Work(ByteConnection& its) noexcept
    : Ready([](Ready* node) noexcept { static_cast<Work*>(node)->connection.work(); }), connection(its) {}

ByteConnection::ByteConnection(Loop& loop, std::unique_ptr<BaseCarrier> carrier, Duration stall_timeout)
    : loop_(loop), carrier_(std::move(carrier)), stall_timeout_(stall_timeout) {
  carrier_->report_to(*this);
}

ByteConnection::~ByteConnection() {
  abandon();
}

void ByteConnection::start(ByteSink& sink, Bytes received) {
  WEFT_ASSERT(sink_ == nullptr, "a connection is started once");
  sink_ = &sink;
  state_ = State::kOpen;
  if (!received.empty()) {
    in_ = loop_.chunks().acquire(received.size());
    if (!in_) return close(Status::of<kNoMemoryForBytes>());
    std::copy(received.begin(), received.end(), in_->data());
    in_end_ = received.size();
    received_.bytes.add(in_end_);
  }
  readable_ = true;
  schedule_work();
}

bool ByteConnection::send(Bytes bytes) noexcept {
  if (sending_ != Sending::kOpen || is_over()) return true;
  const std::size_t before = queued_;
  while (!bytes.empty()) {
    Piece* last = first_ < pieces_.size() ? &pieces_.back() : nullptr;
    if (last == nullptr || last->end == last->chunk->capacity()) {
      ChunkRef chunk = loop_.chunks().acquire();
      if (!chunk) return false;
      try {
        pieces_.push_back({std::move(chunk)});
      } catch (const std::bad_alloc&) {
        return false;
      }
      last = &pieces_.back();
    }
    const std::size_t part = std::min(bytes.size(), last->chunk->capacity() - last->end);
    std::memcpy(last->chunk->data() + last->end, bytes.data(), part);
    last->end += part;
    queued_ += part;
    bytes = bytes.subspan(part);
  }
  if (before == 0 && !blocked_) loop_.at_turn_end(*this);
  was_full_ = was_full_ || !has_room();
  return true;
}

void ByteConnection::flush_soon() noexcept {
  if (sending_ == Sending::kOpen && !is_over() && !blocked_) loop_.at_turn_end(*this);
}

void ByteConnection::resume_receiving() noexcept {
  if (!std::exchange(paused_, false) || is_over()) return;
  schedule_work();
}

void ByteConnection::give_way() noexcept {
  gives_way_ = true;
  if (!work_.is_scheduled()) loop_.turn_time().put_off(work_);
}

void ByteConnection::finish() noexcept {
  if (sending_ != Sending::kOpen || is_over()) return;
  sending_ = Sending::kFinishing;
  if (!blocked_) loop_.at_turn_end(*this);
}

void ByteConnection::close(Status why) noexcept {
  if (is_over()) return;
  state_ = State::kClosing;
  why_ = std::move(why);
  loop_.unschedule(work_);
  schedule_work();
}

void ByteConnection::abandon() noexcept {
  sink_ = nullptr;
  if (std::exchange(state_, State::kClosed) == State::kClosed) return;
  loop_.unschedule(work_);
  loop_.disarm(*this);
  TurnEndHook::unlink();
  carrier_->shut();
  pieces_.clear();
  first_ = queued_ = 0;
  in_.reset();
}

ConnectionStats ByteConnection::stats() const noexcept {
  return {.bytes_received = received_.bytes.get(),
          .receives = received_.receives.get(),
          .bytes_sent = sent_.bytes.get(),
          .sends = sent_.sends.get()};
}

void ByteConnection::schedule_work() noexcept {
  if (!work_.is_scheduled()) loop_.schedule(work_);
}

void ByteConnection::work() noexcept {
  gives_way_ = false;
  if (state_ == State::kOpen) receive();
  if (state_ == State::kClosing) conclude();
}

void ByteConnection::on_readable() {
  readable_ = true;
  if (state_ != State::kOpen || work_.is_scheduled()) return;
  // Connections that this turn does not reach come first in the next one, in the order of their events.
  TurnTime& turn = loop_.turn_time();
  if (turn.has_missed() || turn.is_old()) return turn.miss(work_);
  receive();
}

void ByteConnection::receive() {
  TurnTime& turn = loop_.turn_time();
  std::size_t received = 0;
  for (;;) {
    deliver();
    if (!readable_ || !receives() || gives_way_) break;
    if (received >= kBytesPerTurn || turn.is_old()) {
      if (!work_.is_scheduled()) received == 0 ? turn.miss(work_) : turn.put_off(work_);
      break;
    }
    received += receive_once();
  }
  if (!keeps_bytes()) in_.reset();
}

std::size_t ByteConnection::receive_once() {
  if (!in_) in_ = loop_.chunks().acquire();
  if (!in_) {
    close(Status::of<kNoMemoryForBytes>());
    return 0;
  }
  const iovec room{in_->data() + in_end_, in_->capacity() - in_end_};
  const Moved moved = carrier_->receive({&room, 1}, {});
  readable_ = moved.kind == Moved::Kind::kSome && !moved.exhausted;
  switch (moved.kind) {
    case Moved::Kind::kSome:
      ++received_.receives;
      received_.bytes.add(moved.bytes);
      in_end_ += moved.bytes;
      return moved.bytes;
    case Moved::Kind::kEnded:
      peer_ended();
      return 0;
    case Moved::Kind::kFailed:
      lost("receive from ", moved.error);
      return 0;
    default:
      return 0;
  }
}

// Hands the bytes that wait to the sink.
void ByteConnection::deliver() {
  while (keeps_bytes() && state_ == State::kOpen && !is_held()) {
    const std::size_t taken = sink_->on_bytes({in_->data() + in_begin_, in_end_ - in_begin_});
    in_begin_ += taken;
    WEFT_ASSERT(!keeps_bytes() || is_held() || is_over(), "a sink takes all bytes, or holds the connection");
  }
  if (!keeps_bytes()) in_begin_ = in_end_ = 0;
}

void ByteConnection::peer_ended() {
  receive_ended_ = true;
  sink_->on_peer_end();
  if (state_ == State::kOpen) end_if_due();
}

void ByteConnection::on_writable() {
  if (state_ != State::kOpen) return;
  if (std::exchange(blocked_, false)) {
    if (let_sink_queue()) flush();
    return;
  }
  if (sending_ == Sending::kEnded && carrier_->all_left()) linger();
}

void ByteConnection::on_report_end() {
  if (TurnEndHook::queued() && state_ == State::kOpen && let_sink_queue() && queued_ != 0) flush();
}

void ByteConnection::on_turn_end() {
  if (state_ == State::kOpen && !blocked_ && let_sink_queue()) flush();
}

bool ByteConnection::let_sink_queue() {
  if (sending_ == Sending::kOpen) sink_->before_flush();
  return state_ == State::kOpen;
}

Moved ByteConnection::send_some() {
  iovec parts[Capabilities::kSegmentsMin];
  std::size_t count = 0;
  for (std::size_t i = first_; i < pieces_.size() && count < std::size(parts); ++i) {
    const Piece& piece = pieces_[i];
    parts[count++] = {piece.chunk->data() + piece.begin, piece.end - piece.begin};
  }
  return carrier_->send({parts, count}, 0);
}

void ByteConnection::consume(std::size_t bytes) noexcept {
  ++sent_.sends;
  sent_.bytes.add(bytes);
  queued_ -= bytes;
  while (bytes != 0) {
    Piece& piece = pieces_[first_];
    const std::size_t part = std::min(bytes, piece.end - piece.begin);
    piece.begin += part;
    bytes -= part;
    if (piece.begin != piece.end) break;
    piece.chunk.reset();
    ++first_;
  }
  // A queue that never empties must not keep the places of pieces that have left.
  if (first_ < pieces_.size() && first_ < kPlacesKept) return;
  pieces_.erase(pieces_.begin(), pieces_.begin() + static_cast<std::ptrdiff_t>(first_));
  first_ = 0;
}

void ByteConnection::flush() {
  while (queued_ != 0) {
    const Moved moved = send_some();
    if (moved.kind == Moved::Kind::kFailed) return lost("send to ", moved.error);
    if (moved.kind == Moved::Kind::kSome) consume(moved.bytes);
    if (moved.kind == Moved::Kind::kSome && !moved.exhausted) continue;
    if (moved.kind == Moved::Kind::kSome && queued_ == 0) break;
    blocked_ = true;
    if (moved.kind == Moved::Kind::kSome || !armed()) blocked_since_ = loop_.now();
    if (!armed()) loop_.arm(*this, Deadline::after(loop_.now(), stall_timeout_).at());
    break;
  }
  after_flush();
}

void ByteConnection::after_flush() {
  if (queued_ == 0 && armed() && sending_ == Sending::kOpen) loop_.disarm(*this);
  if (queued_ == 0 || (was_full_ && has_room())) {
    was_full_ = false;
    sink_->on_drained();
    if (state_ != State::kOpen) return;
  }
  if (queued_ != 0 || sending_ != Sending::kFinishing) return;
  sending_ = Sending::kEnded;
  carrier_->end_sending();
  // The end of the peer must be noticed.
  paused_ = false;
  readable_ = true;
  schedule_work();
  if (carrier_->all_left()) return linger();
  // A filter such as TLS still holds bytes, and reports when they have left.
  loop_.arm(*this, Deadline::after(loop_.now(), stall_timeout_).at());
}

// Everything has left: the peer gets a short time to end its side.
void ByteConnection::linger() {
  loop_.arm(*this, loop_.now() + kLinger);
  end_if_due();
}

void ByteConnection::end_if_due() {
  if (receive_ended_ && sending_ == Sending::kEnded && carrier_->all_left()) close({});
}

void ByteConnection::on_timer() {
  if (state_ != State::kOpen) return;
  if (sending_ == Sending::kEnded && carrier_->all_left()) return close(Status::of<kLingered>());
  const TimePoint due = std::max(Deadline::after(blocked_since_, stall_timeout_).at(),
                                 loop_.turn_time().absence().judge_from(stall_timeout_));
  if (due > loop_.now()) return loop_.arm(*this, due);
  close({StatusCode::kUnavailable, Layer::kTransport, [this] {
           return remote_endpoint() + " stopped taking what is sent to it, " + std::to_string(queued_) +
                  " bytes are queued";
         }});
}

void ByteConnection::lost(const char* what, int error) noexcept {
  try {
    close(connection_lost(what, remote_endpoint(), error));
  } catch (const std::bad_alloc&) {
    close(connection_lost(what, "the peer", error));
  }
}

void ByteConnection::conclude() {
  ByteSink* const sink = sink_;
  Status why = std::move(why_);
  abandon();
  if (sink != nullptr) sink->on_closed(why);
}

}  // namespace weft::detail
