// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/tls_carrier.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "transport/tls/address_key.hpp"
#include "transport/tls/failure.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::tls {

namespace {

// As over TCP, where these save system calls.
constexpr Capabilities kTls{.name = "tls",
                            .lease_bytes_min = 16 * 1024,
                            .lone_piece_bytes = 512 * 1024,
                            .few_frames_bytes = 128 * 1024,
                            .peer_may_vanish = true,
                            .gathers = true,
                            .lends_runs = true};

constexpr Duration kLinger = std::chrono::seconds{1};
/// A part of a handshake that took so long is followed by others' turn.
constexpr Duration kLongStep = std::chrono::microseconds{50};

constexpr FixedFailure kTruncated{
    StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
    "TLS: the stream ended without a word of the peer's TLS: the peer died, or somebody cut it off"};
constexpr FixedFailure kEndedEarly{StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
                                   "TLS: the peer ended the connection within the handshake"};
constexpr FixedFailure kUnheard{
    StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
    "TLS: the peer ended the connection before it said a word of TLS: does it listen on tls://?"};
constexpr FixedFailure kLate{StatusCode::kUnavailable, Layer::kTransport, Retry::kReconnect,
                             "TLS: the handshake took longer than TlsOptions::handshake_timeout"};
constexpr FixedFailure kPushedOut{StatusCode::kResourceExhausted, Layer::kTransport, Retry::kReconnect,
                                  "TLS: a newer handshake pushed this one out (TlsOptions::handshakes_max)"};
constexpr FixedFailure kNoMemoryForRecords{StatusCode::kResourceExhausted, Layer::kTransport,
                                           Retry::kReconnect, "TLS: no memory to receive into"};

constexpr bool begins_tls(std::byte first) {
  return first == std::byte{0x16} || first == std::byte{0x15};
}

// The endpoint of a base carrier with the scheme of ours.
std::string as_tls(const std::string& endpoint) {
  const std::size_t at = endpoint.find("://");
  return at == std::string::npos ? endpoint : "tls" + endpoint.substr(at);
}

// Fatal, unexpected message.
constexpr unsigned char kAlert[] = {0x15, 3, 3, 0, 2, 2, 10};

}  // namespace

TlsCarrier::Work::Work(TlsCarrier& its) noexcept
    : Ready([](Ready* node) noexcept { static_cast<Work*>(node)->carrier.work(); }), carrier(its) {}

void TlsCarrier::Work::await_turn() noexcept {
  if (!is_scheduled()) carrier.terms_.turns->wait(*this);
}

void TlsCarrier::Work::schedule() noexcept {
  if (!is_scheduled()) carrier.loop_.schedule(*this);
}

TlsCarrier::TlsCarrier(Loop& loop, std::unique_ptr<BaseCarrier> base, Side side, Owned<SSL> ssl,
                       std::shared_ptr<const void> owner_of_ssl, Terms terms)
    : Handshake(side == Side::kServer ? address_key(base->remote_endpoint()) : 0),
      loop_(loop),
      pipe_(std::move(base)),
      engine_(loop, side, std::move(ssl), std::move(owner_of_ssl)),
      terms_(std::move(terms)),
      capabilities_(kTls) {
  pipe_.base().report_to(*this);
}

TlsCarrier::~TlsCarrier() {
  shut();
}

std::string TlsCarrier::description() const {
  return state_ == State::kPlain ? "not encrypted: the client came without TLS" : engine_.description();
}

const char* TlsCarrier::keeps_others_off() const {
  return "connections of tls:// stay encrypted, and UCX and RDMA do not encrypt: "
         "TransportOptions::beside_tls could let them";
}

std::string TlsCarrier::local_endpoint() const {
  const std::string endpoint = pipe_.base().local_endpoint();
  return state_ == State::kPlain ? endpoint : as_tls(endpoint);
}

std::string TlsCarrier::remote_endpoint() const {
  const std::string endpoint = pipe_.base().remote_endpoint();
  return state_ == State::kPlain ? endpoint : as_tls(endpoint);
}

void TlsCarrier::work() noexcept {
  switch (state_) {
    case State::kShaking:
      return shake_hands();
    case State::kOpen:
      // The owner may wait for words of the peer that are here already: then all of its own leave together.
      if (!engine_.input().empty()) owner().on_readable();
      if (state_ != State::kOpen) return;
      [[fallthrough]];
    case State::kPlain:
      owner().on_writable();
      // The last words of the handshake leave alone if the owner has none for this turn's end.
      if (!engine_.output().empty()) loop_.at_turn_end(work_);
      if (state_ == State::kOpen || state_ == State::kPlain) owner().on_readable();
      return;
    case State::kFailed:
      return owner().on_failed(failure_);
    default:
      return;
  }
}

// Returns true when bytes may pass. The first call begins the handshake.
bool TlsCarrier::is_open() noexcept {
  if (state_ == State::kMade) {
    state_ = State::kShaking;
    loop_.arm(*this, Deadline::after(loop_.now(), terms_.options().handshake_timeout).at());
    terms_.enter(*this);
    work_.await_turn();
  }
  return state_ == State::kOpen;
}

// A step of a handshake takes up to a millisecond, so other connections are served between two steps.
void TlsCarrier::shake_hands() noexcept {
  const TimePoint began = loop_.read_clock();
  while (state_ == State::kShaking) {
    if (loop_.now() - began >= kLongStep) return work_.await_turn();
    const TlsEngine::Outcome outcome = engine_.shake_hands();
    loop_.read_clock();
    // The last handshake message leaves with the owner's first bytes.
    if (outcome == TlsEngine::Outcome::kDone) return opened(State::kOpen);
    if (outcome == TlsEngine::Outcome::kGreets) {
      loop_.at_turn_end(work_);
      owner().on_writable();
      if (engine_.input().empty() && pipe_.is_drained()) return;  // more of it will be told
      continue;
    }
    const bool flushed = pipe_.flush(engine_.output());
    if (pipe_.send_error() != 0)
      return fail(connection_lost("TLS handshake with ", "the peer", pipe_.send_error()));
    switch (outcome) {
      case TlsEngine::Outcome::kDone:
      case TlsEngine::Outcome::kGreets:
        return;
      case TlsEngine::Outcome::kWantsInput: {
        const Moved moved = fill();
        if (state_ != State::kShaking || moved.waits()) return;
        if (!looked_ && moved.kind != Moved::Kind::kSome) return fail(Status::of<kUnheard>());
        if (moved.kind == Moved::Kind::kEnded) return fail(Status::of<kEndedEarly>());
        if (moved.kind == Moved::Kind::kFailed) {
          return fail(connection_lost("TLS handshake with ", "the peer", moved.error));
        }
        break;
      }
      case TlsEngine::Outcome::kWantsOutput:
        if (!flushed) return;
        break;
      case TlsEngine::Outcome::kEnded:
        return fail(Status::of<kEndedEarly>());
      case TlsEngine::Outcome::kFailed:
        return fail(engine_.failure());
    }
  }
}

void TlsCarrier::opened(State state) noexcept {
  state_ = state;
  if (state == State::kOpen && engine_.side() == Side::kServer) set_peer_identity(engine_.peer_identity());
  loop_.disarm(*this);
  terms_.leave(*this);
  if (state == State::kPlain) {
    Tally::count(terms_.tally().plain);
    capabilities_.name = "tcp";
  } else {
    Tally::count(terms_.tally().handshakes);
    if (engine_.resumed()) Tally::count(terms_.tally().resumed);
  }
  if (ending_ == Ending::kWanted) end_sending();
  work_.schedule();  // for calls that returned blocked meanwhile
}

// Receives into the empty input. kSome: there is some.
Moved TlsCarrier::fill() noexcept {
  if (pipe_.is_drained()) return Moved::blocked();
  CipherBuffer& input = engine_.input();
  if (!input.open(1)) {
    fail(Status::of<kNoMemoryForRecords>());
    return Moved::blocked();
  }
  const Moved moved = pipe_.fill(input);
  if (moved.kind != Moved::Kind::kSome || std::exchange(looked_, true)) return moved;
  if (begins_tls(input.bytes().front())) return moved;
  if (engine_.side() == Side::kServer && terms_.options().plain_too) {
    opened(State::kPlain);
    return Moved::blocked();
  }
  if (engine_.side() == Side::kServer) {
    CipherBuffer& output = engine_.output();
    if (output.empty() && output.open(1)) {
      std::copy(std::begin(kAlert), std::end(kAlert), reinterpret_cast<unsigned char*>(output.room().data()));
      output.add(sizeof kAlert);
    }
  }
  fail(not_tls(engine_.side()), &terms_.tally().not_tls);
  return Moved::blocked();
}

Moved TlsCarrier::receive(std::span<const iovec> into, std::span<const iovec> landing) {
  if (!is_open())
    return state_ == State::kPlain ? pipe_.receive_plain(engine_.input(), into, landing) : Moved::blocked();
  read_waits_ = false;
  std::size_t total = 0;
  const auto so_far = [&](const Moved& otherwise, bool exhausted) {
    return total > 0 ? Moved::some(total, exhausted) : otherwise;
  };
  // A peer can send records faster than they are decrypted, and without a byte for the owner: other
  // connections are served meanwhile, and this one continues behind them.
  const auto is_long_turn = [this] {
    loop_.read_clock();
    if (!loop_.turn_time().is_old()) return false;
    if (!work_.is_scheduled()) loop_.turn_time().put_off(work_);
    return true;
  };
  for (const iovec& place : into) {
    MutableBytes rest{static_cast<std::byte*>(place.iov_base), place.iov_len};
    while (!rest.empty()) {
      std::size_t got = 0;
      const bool left = !engine_.output().empty();
      const TlsEngine::Outcome outcome = engine_.read(rest, got);
      // An answer of TLS itself. Bytes that were queued before leave anyway: the socket reports, or work()
      // sends them.
      if (!left && !engine_.output().empty()) pipe_.flush(engine_.output());
      switch (outcome) {
        case TlsEngine::Outcome::kDone:
          total += got;
          rest = rest.subspan(got);
          break;
        case TlsEngine::Outcome::kWantsInput: {
          if (is_long_turn()) return so_far(Moved::blocked(), true);
          const Moved moved = fill();
          if (moved.kind == Moved::Kind::kSome) break;
          if (moved.waits()) return so_far(Moved::blocked(), true);
          if (total > 0) return Moved::some(total, false);  // the next one meets it again
          if (moved.kind == Moved::Kind::kFailed) return moved;
          fail(Status::of<kTruncated>());
          return Moved::blocked();
        }
        case TlsEngine::Outcome::kWantsOutput:
          if (engine_.output().empty()) break;
          read_waits_ = true;
          return so_far(Moved::blocked(), true);
        case TlsEngine::Outcome::kGreets:  // a handshake's alone
          return so_far(Moved::blocked(), true);
        case TlsEngine::Outcome::kEnded:
          if (total > 0) return Moved::some(total, false);  // the next one meets it again
          // A peer that has gone sent a close-notify and then reset the connection. The reset is reported
          // once, and no later receive would meet it.
          if (const int error = pipe_.error_behind_end(); error != 0) return Moved::failed(error);
          return Moved::ended();
        case TlsEngine::Outcome::kFailed:
          fail(engine_.failure());
          return so_far(Moved::blocked(), true);
      }
    }
  }
  return Moved::some(total, false);
}

Moved TlsCarrier::send(std::span<const iovec> from, std::size_t leased) {
  if (!is_open() && !engine_.is_greeting()) {
    return state_ == State::kPlain ? pipe_.base().send(from, leased) : Moved::blocked();
  }
  const bool joins = engine_.takes_more() && pipe_.send_error() == 0;
  if (!joins && !pipe_.flush(engine_.output()))
    return pipe_.send_error() != 0 ? Moved::failed(pipe_.send_error()) : Moved::blocked();
  std::size_t taken = 0;
  if (engine_.write(from, taken) != TlsEngine::Outcome::kDone && taken == 0) {
    fail(engine_.failure());
    return Moved::blocked();
  }
  const bool left = pipe_.flush(engine_.output());
  // The peer may have received a part, so the accepted bytes count as sent; the next send() reports the
  // failure.
  if (pipe_.send_error() != 0) work_.schedule();
  return Moved::some(taken, !left);
}

void TlsCarrier::end_sending() {
  if (state_ != State::kOpen && state_ != State::kPlain) {
    ending_ = Ending::kWanted;
    return;
  }
  if (ending_ >= Ending::kSaid) return;
  ending_ = Ending::kSaid;
  if (state_ == State::kOpen) engine_.end();
  pipe_.flush(engine_.output());
  end_if_due();
}

void TlsCarrier::end_if_due() noexcept {
  if (ending_ != Ending::kSaid || !engine_.output().empty()) return;
  ending_ = Ending::kLeft;
  pipe_.base().end_sending();
}

// The peer needs TLS's own end, so that is part of the output to be sent.
bool TlsCarrier::all_left() const {
  return state_ != State::kOpen || ending_ == Ending::kLeft || pipe_.send_error() != 0;
}

void TlsCarrier::shut() {
  const State was = std::exchange(state_, State::kShut);
  if (was == State::kShut) return;
  if (was == State::kOpen && ending_ < Ending::kSaid && pipe_.send_error() == 0) {
    engine_.end();
    pipe_.flush(engine_.output());
  }
  // A socket that is closed with bytes unread resets its connection, and a server's ticket may be there
  // still.
  if (was == State::kOpen) pipe_.drop_input();
  loop_.disarm(*this);
  terms_.leave(*this);
  loop_.unschedule(work_);
  work_.TurnEndHook::unlink();
  pipe_.base().shut();
  engine_.input().clear();
  engine_.output().clear();
}

void TlsCarrier::on_readable() {
  pipe_.on_readable();
  switch (state_) {
    case State::kShaking:
      return work_.await_turn();
    case State::kOpen:
    case State::kPlain:
      return owner().on_readable();
    case State::kLingering:
      if (!pipe_.drop_input()) on_pushed_out();
      return;
    default:
      return;
  }
}

void TlsCarrier::on_writable() {
  if (state_ == State::kShaking) return work_.await_turn();
  if (state_ == State::kPlain) return owner().on_writable();
  if (state_ != State::kOpen) return;
  if (!pipe_.flush(engine_.output()) && pipe_.send_error() == 0) return;
  end_if_due();
  owner().on_writable();
  if (state_ == State::kOpen && std::exchange(read_waits_, false)) owner().on_readable();
}

void TlsCarrier::Work::on_turn_end() {
  carrier.pipe_.flush(carrier.engine_.output());
  if (carrier.state_ == State::kShaking && carrier.pipe_.send_error() != 0) schedule();
}

void TlsCarrier::on_report_end() {
  if (state_ == State::kOpen || state_ == State::kPlain) owner().on_report_end();
}

void TlsCarrier::on_failed(Status why) {
  fail(std::move(why));
}

void TlsCarrier::on_timer() {
  if (state_ == State::kShaking) return fail(Status::of<kLate>(), &terms_.tally().late);
  if (state_ != State::kLingering) return;
  terms_.leave(*this);
  state_ = State::kFailed;
  work_.schedule();
}

void TlsCarrier::on_pushed_out() noexcept {
  if (state_ == State::kLingering) {
    loop_.disarm(*this);
    return on_timer();
  }
  fail(Status::of<kPushedOut>(), &terms_.tally().pushed_out);
}

// The owner is notified in a turn of its own, because this may run within one of its calls.
void TlsCarrier::fail(Status why, Tally::Counter* counter) noexcept {
  if (state_ >= State::kLingering) return;
  if (state_ == State::kShaking) Tally::count(counter != nullptr ? *counter : terms_.tally().of(why));
  const bool lingers = state_ == State::kShaking && engine_.side() == Side::kServer &&
                       why.code() != StatusCode::kUnavailable && why.code() != StatusCode::kResourceExhausted;
  failure_ = std::move(why);
  state_ = State::kFailed;
  pipe_.flush(engine_.output());
  loop_.unschedule(work_);
  loop_.disarm(*this);
  if (!lingers) {
    terms_.leave(*this);
    return work_.schedule();
  }
  state_ = State::kLingering;
  engine_.input().clear();
  pipe_.base().end_sending();
  loop_.arm(*this, Deadline::after(loop_.now(), kLinger).at());
  if (!pipe_.drop_input()) on_pushed_out();  // no reader is left
}

}  // namespace weft::detail::tls
