// SPDX-License-Identifier: Apache-2.0
#include "calls/grpc/grpc_connection.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "weft/detail/base/saturated.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::grpc {

namespace {

/// Part of received bytes behind which other connections may have their turn.
constexpr std::size_t kPartBytes = 16 * 1024;
/// Time that a peer has to answer the ping behind the announcement of the end.
constexpr Duration kAnnouncing = std::chrono::seconds{1};
/// Time that the last answers have to leave after close().
constexpr Duration kClosing = std::chrono::seconds{1};
/// Step in which the memory of a session is charged.
constexpr std::size_t kChargeStep = 16 * 1024;
/// Largest window of a stream on the wire; RpcLimits::stream_window limits the messages behind it.
constexpr std::uint32_t kStreamWindowMax = 1u << 20;

/// Largest number of streams that a peer may have open: see GrpcOptions::calls_in_flight_max.
constexpr std::uint32_t kStreamsMax = 8192;

enum Mark : std::uint8_t { kAliveMark = 1, kDrainMark = 2 };

constexpr FixedFailure kNoConnectionMemory{StatusCode::kResourceExhausted, Layer::kTransport,
                                           Retry::kReconnect, "out of memory for a connection of gRPC"};
constexpr FixedFailure kSilent{StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
                               "the peer did not begin HTTP/2 in time"};
constexpr FixedFailure kNoPong{StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
                               "the peer did not answer a ping in time"};
constexpr FixedFailure kNotTaken{
    StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
    "the server closed the connection, and the peer did not take the last answers in time"};

Http2Options http2_options(const GrpcOptions& options, const RpcLimits& limits) noexcept {
  return {.streams_max = std::min({options.calls_in_flight_max, limits.calls_in_flight_max, kStreamsMax}),
          .header_bytes_max = options.header_bytes_max,
          .stream_window = std::min(limits.stream_window, kStreamWindowMax)};
}

}  // namespace

GrpcConnection::GrpcConnection(const ServedConnectionSetup& setup, const GrpcOptions& options,
                               std::unique_ptr<BaseCarrier> carrier)
    : loop_(setup.loop),
      owner_(setup.owner),
      limits_(setup.limits),
      memory_(*setup.host.memory),
      refusals_(setup.host.refusals),
      connection_(setup.loop, std::move(carrier), setup.limits.stall_timeout),
      session_(calls_, http2_options(options, setup.limits), setup.loop.now()),
      calls_(setup, options, *this) {}

GrpcConnection::~GrpcConnection() {
  connection_.abandon();
  calls_.end();
  memory_.release(charged_);
}

void GrpcConnection::start(Bytes received) {
  calls_.set_peer(connection_.peer_identity());
  last_received_ = loop_.now();
  loop_.arm(*this, Deadline::after(loop_.now(), limits_.hello_timeout).at());
  charge_session();
  connection_.start(*this, received);
  flush_soon();
}

std::size_t GrpcConnection::on_bytes(Bytes bytes) {
  last_received_ = loop_.now();
  has_pinged_ = false;
  std::size_t taken = 0;
  while (taken < bytes.size() && state_ != State::kEnding) {
    const Bytes part = bytes.subspan(taken, std::min(kPartBytes, bytes.size() - taken));
    taken += part.size();
    receive_part(part);
    if (taken < bytes.size() && loop_.turn_time().is_old()) {
      connection_.give_way();
      break;
    }
  }
  flush_soon();
  return state_ == State::kEnding ? bytes.size() : taken;
}

void GrpcConnection::receive_part(Bytes part) {
  const bool had_begun = session_.has_begun();
  const Status received = session_.receive(part, loop_.now());
  calls_.on_received();
  if (!had_begun && session_.has_begun() && state_ == State::kOpen) watch();
  end_if_failed(received);
  if (close_due_) close(*std::exchange(close_due_, std::nullopt));
}

void GrpcConnection::send() {
  if (session_.is_active() || state_ == State::kEnding) return;
  Status sent = send_submitted();
  if (sent.ok() && drain_ping_due_ && !session_.has_output()) {
    drain_ping_due_ = false;
    if (!session_.ping(kDrainMark)) return give_up();
    sent = session_.send(loop_.now());
  }
  end_if_failed(sent);
  if (close_due_) return close(*std::exchange(close_due_, std::nullopt));
  charge_session();
  end_if_over();
}

// Answers that wait for memory are submitted as others leave.
Status GrpcConnection::send_submitted() {
  Status sent;
  do {
    calls_.before_send();
    sent = session_.send(loop_.now());
  } while (sent.ok() && calls_.has_due_heads() && connection_.has_room());
  return sent;
}

void GrpcConnection::end_if_failed(const Status& why) noexcept {
  if (why.ok() || state_ == State::kEnding) return;
  begin_end();
  connection_.close(why);
}

// After a GOAWAY because of a violation, after the peer's GOAWAY and its last answer, or after the last
// answer of a server that stops.
void GrpcConnection::end_if_over() {
  if (state_ == State::kEnding) return;
  const bool is_over = session_.is_over();
  if (!is_over && (state_ != State::kDraining || !calls_.are_done() || session_.has_output())) return;
  if (is_over && !session_.breach().empty()) {
    failure_ = {StatusCode::kInvalidArgument, Layer::kTransport,
                [this] { return std::string{"the peer broke HTTP/2: "}.append(session_.breach()); }};
  }
  begin_end();
  connection_.finish();
}

void GrpcConnection::begin_end() noexcept {
  state_ = State::kEnding;
  loop_.disarm(*this);
  calls_.end();
}

void GrpcConnection::give_up() noexcept {
  if (state_ == State::kEnding) return;
  connection_.close(Status::of<kNoConnectionMemory>());
}

void GrpcConnection::on_ended() noexcept {
  if (state_ == State::kDraining) flush_soon();
}

void GrpcConnection::on_pong(std::uint8_t mark) noexcept {
  if (mark != kDrainMark || state_ != State::kAnnounced) return;
  state_ = State::kDraining;
  if (!session_.refuse_more()) return give_up();
  watch();
  flush_soon();
}

void GrpcConnection::on_drained() {
  send();
  calls_.on_room();
}

// A client that ends its side gives up the calls that it waits for.
void GrpcConnection::on_peer_end() {
  if (state_ == State::kEnding) return connection_.finish();
  begin_end();
  connection_.finish();
}

void GrpcConnection::on_closed(const Status& why) {
  begin_end();
  connection_.abandon();
  if (failure_.ok()) failure_ = why;
  if (const auto breach = breach_of(failure_)) refusals_.count(*breach);
  owner_.on_connection_closed(*this, failure_);
}

void GrpcConnection::drain() {
  if (state_ != State::kOpen) return;
  state_ = State::kAnnounced;
  if (!session_.announce_end()) return give_up();
  drain_ping_due_ = true;
  loop_.arm(*this, loop_.now() + kAnnouncing);
  flush_soon();
}

void GrpcConnection::close(const Status& why) {
  if (state_ == State::kEnding) {
    if (!armed()) loop_.arm(*this, loop_.now() + kClosing);
    return;
  }
  if (session_.is_active()) {
    close_due_ = why;
    return;
  }
  calls_.fail_all({StatusCode::kUnavailable, Layer::kRpc, why.message()});
  Status sent = send_submitted();
  if (sent.ok() && session_.terminate(Http2Error::kNone)) sent = session_.send(loop_.now());
  begin_end();
  if (!sent.ok()) return connection_.close(sent);
  connection_.finish();
  // The peer may read no answers.
  loop_.arm(*this, loop_.now() + kClosing);
}

void GrpcConnection::watch() noexcept {
  if (limits_.ping_interval <= Duration::zero()) return loop_.disarm(*this);
  loop_.arm(*this, Deadline::after(last_received_, limits_.ping_interval).at());
}

void GrpcConnection::on_timer() {
  switch (state_) {
    case State::kEnding:
      return connection_.close(Status::of<kNotTaken>());
    case State::kAnnounced:
      return on_pong(kDrainMark);
    default:
      break;
  }
  if (session_.has_begun()) return keep_alive();
  failure_ = Status::of<kSilent>();
  begin_end();
  connection_.close(failure_);
}

void GrpcConnection::keep_alive() {
  const TimePoint due = std::max(Deadline::after(last_received_, limits_.ping_interval).at(),
                                 loop_.turn_time().absence().judge_from(limits_.ping_interval));
  if (due > loop_.now()) return loop_.arm(*this, due);
  if (has_pinged_) return end_if_failed(Status::of<kNoPong>());
  has_pinged_ = true;
  if (!session_.ping(kAliveMark)) return give_up();
  flush_soon();
  loop_.arm(*this, Deadline::after(loop_.now(), limits_.ping_interval).at());
}

void GrpcConnection::charge_session() noexcept {
  const std::size_t used = sizeof *this + session_.heap_used() + calls_.stream_bytes();
  if (used > charged_) {
    const std::size_t more = (used - charged_ + kChargeStep - 1) / kChargeStep * kChargeStep;
    const bool has_memory = memory_.try_reserve(more);
    calls_.set_starved(!has_memory);
    if (has_memory) charged_ += more;
    return;
  }
  calls_.set_starved(false);
  if (charged_ - used > 2 * kChargeStep) {
    memory_.release(charged_ - used);
    charged_ = used;
  }
}

}  // namespace weft::detail::grpc
