// SPDX-License-Identifier: Apache-2.0
#include "calls/client_core.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "calls/call_path.hpp"
#include "calls/call_status.hpp"
#include "calls/check_options.hpp"

namespace weft {

namespace {

/// Between two lines of a client's about carriers that it goes without.
constexpr Duration kRefusalInterval = std::chrono::seconds{1};

Status closed_status() {
  return {StatusCode::kCancelled, Layer::kRpc, "the client was closed"};
}

}  // namespace

ClientCore::ClientCore(Loop& loop, const TransportSet& transports, ClientOptions options)
    : loop_(loop),
      transports_(transports),
      options_(std::move(options)),
      misuse_(check_options(options_)),
      random_(static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(this) >> 4) ^
              static_cast<unsigned>(loop.now().time_since_epoch().count())) {
  host_.memory = std::make_shared<MemoryBudget>(options_.limits.process_memory_max);
  // A call is refused for the misuse itself, not for a time that is over.
  if (!misuse_.ok()) options_.call_timeout = Duration::zero();
}

ClientCore::~ClientCore() {
  close();
}

void ClientCore::wait_or_refuse(PendingCall& call, std::size_t body_bytes) {
  call.state_ = PendingCall::State::kDone;
  if (state_ == State::kClosed) {
    call.failure_ = closed_status();
  } else if (!misuse_.ok()) {
    call.failure_ = misuse_;
  } else if (body_bytes > options_.limits.body_bytes_max) {
    call.failure_ = over_limit("a request", body_bytes, options_.limits.body_bytes_max, "the client's");
  } else if (waiting_count_ >= options_.limits.calls_waiting_max) {
    call.failure_ = {StatusCode::kResourceExhausted, Layer::kRpc,
                     "too many calls wait for the connection already (calls_waiting_max)"};
  } else {
    call.state_ = PendingCall::State::kWaiting;
    waiting_.push_back(call);
    ++waiting_count_;
    need_connection();
  }
}

void ClientCore::forget_waiting(PendingCall& call) {
  static_cast<ListHook<WaitingCallTag>&>(call).unlink();
  --waiting_count_;
}

void ClientCore::need_connection() {
  if (state_ != State::kIdle) return;
  state_ = State::kConnecting;
  // Never on the caller's stack: an attempt that fails at once must not find its call half begun.
  loop_.arm(*this, loop_.now());
}

void ClientCore::on_timer() {
  const bool wanted = waiting_count_ != 0 || !connect_waiters_.empty();
  if (wanted) return start_attempt();
  state_ = State::kIdle;
}

void ClientCore::start_attempt() {
  state_ = State::kConnecting;
  attempt_done_ = false;
  attempt_ = attempt();
  detail::start(attempt_, nullptr, attempt_end_);
}

Task<void> ClientCore::attempt() {
  Result<Url> url = Url::parse(options_.connect);
  if (!url.ok()) {
    attempt_failed(url.status());
    co_return;
  }
  Result<Transport*> transport = transports_.find(*url);
  if (!transport.ok()) {
    attempt_failed(transport.status());
    co_return;
  }
  ConnectOptions connect;
  const Deadline deadline = Deadline::after(loop_.now(), options_.connect_timeout);
  connect.deadline = deadline;
  connect.local_address = options_.local_address;
  connect.connection = connection_options(options_.limits);
  Task<Result<std::unique_ptr<Connection>>> connecting =
      (*transport)->connect(loop_, *url, std::move(connect));
  Result<std::unique_ptr<Connection>> connection = co_await std::move(connecting);
  if (!connection.ok()) {
    attempt_failed(connection.status());
    co_return;
  }
  const SessionSetup setup{
      loop_, *this, options_.limits, host_, logger(), options_.checksums, deadline.remaining(loop_.now()),
      true};
  session_ = std::make_unique<Session>(setup, std::move(*connection), connections_ + 1);
  session_->start();
}

void ClientCore::attempt_failed(const Status& why) {
  ++connect_failures_;
  backoff_ = std::clamp(backoff_ * 2, options_.reconnect_wait_min,
                        std::max(options_.reconnect_wait_min, options_.reconnect_wait_max));
  std::uniform_real_distribution<double> jitter(0.5, 1.0);
  state_ = State::kBackoff;
  loop_.arm(*this, loop_.now() + Duration{static_cast<Duration::rep>(static_cast<double>(backoff_.count()) *
                                                                     jitter(random_))});
  fail_waiting(why);
}

void ClientCore::on_session_ready(Session& session) {
  if (&session != session_.get()) return;
  ++connections_;
  state_ = State::kReady;
  backoff_ = Duration::zero();
  tell_of_refused_carrier(session.connection());
  while (!connect_waiters_.empty()) loop_.schedule(connect_waiters_.pop_front().resumption);
  admit_waiting();
}

// Who prefers a carrier should not have to wonder why calls are slow.
void ClientCore::tell_of_refused_carrier(const Connection& connection) {
  if (loop_.now() < refusal_quiet_until_) return;
  try {
    const std::vector<wire::CarrierOffer> offers = connection.carrier_offers();
    const std::string_view carrier = connection.capabilities().name;
    const auto carries = [&](const wire::CarrierOffer& offer) { return to_string(offer.kind) == carrier; };
    if (offers.empty() || std::any_of(offers.begin(), offers.end(), carries)) return;
    const std::string refusal = connection.carrier_report().refusal;
    if (refusal.empty()) return;
    refusal_quiet_until_ = loop_.now() + kRefusalInterval;
    logger().write(LogLevel::kWarning, "the connection to " + connection.remote_endpoint() + " goes by " +
                                           std::string{carrier} +
                                           " although both sides offer another carrier: " + refusal);
  } catch (const std::bad_alloc&) {
    // carrier_report() says it to whoever asks.
  }
}

void ClientCore::on_session_goaway(Session& session) {
  if (&session == session_.get()) {
    retire(std::move(session_));
    state_ = State::kIdle;
    if (waiting_count_ != 0) need_connection();
  }
  finish_when_empty(session);
}

void ClientCore::on_session_room(Session& session) {
  if (&session == session_.get()) [[likely]] {
    if (waiting_count_ != 0) [[unlikely]] {
      admit_waiting();
    }
  } else {
    finish_when_empty(session);
  }
}

void ClientCore::finish_when_empty(Session& session) {
  if (session.calls_out().in_flight() == 0) session.finish();
}

void ClientCore::on_session_closed(Session& session, const Status& why) {
  late_answers_ += session.calls_out().late_answers();
  if (&session == session_.get()) {
    const bool came_up = state_ == State::kReady;
    retire(std::move(session_));
    if (came_up) {
      state_ = State::kIdle;
      if (waiting_count_ != 0) need_connection();
    } else if (state_ != State::kClosed) {
      attempt_failed(why.with_context("connect to " + options_.connect));
    }
  }
  closed_.push_back(&session);
  reap();
}

void ClientCore::retire(std::unique_ptr<Session> session) {
  retired_.push_back(std::move(session));
}

void ClientCore::reap() {
  if (!reaper_.is_scheduled()) loop_.schedule(reaper_);
}

void ClientCore::bury() {
  for (Session* session : std::exchange(closed_, {})) {
    std::erase_if(retired_, [session](const auto& held) { return held.get() == session; });
  }
  if (std::exchange(attempt_done_, false)) attempt_.reset();
}

void ClientCore::AttemptEnd::ended(Completion& self, detail::TaskPromiseBase&) noexcept {
  ClientCore& core = static_cast<AttemptEnd&>(self).core;
  core.attempt_done_ = true;
  core.reap();
}

void ClientCore::admit_waiting() {
  while (waiting_count_ != 0 && session_ != nullptr && session_->has_room()) {
    PendingCall& call = waiting_.pop_front();
    --waiting_count_;
    if (std::byte* body = session_->calls_out().begin(call, call.body_bytes())) {
      call.encode_body(body);
      if (call.needs_sent()) session_->calls_out().sent(call);
    } else {
      call.end();
    }
  }
}

void ClientCore::fail_waiting(const Status& why) {
  while (!connect_waiters_.empty()) {
    ConnectWaiter& waiter = connect_waiters_.pop_front();
    waiter.outcome = why;
    loop_.schedule(waiter.resumption);
  }
  while (!waiting_.empty()) {
    PendingCall& call = waiting_.pop_front();
    --waiting_count_;
    call.finish(why);
  }
}

void ClientCore::add_connect_waiter(ConnectWaiter& waiter) {
  if (state_ == State::kClosed || !misuse_.ok()) {
    waiter.outcome = state_ == State::kClosed ? closed_status() : misuse_;
    return loop_.schedule(waiter.resumption);
  }
  connect_waiters_.push_back(waiter);
  need_connection();
}

void ClientCore::close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  loop_.disarm(*this);
  attempt_.reset();
  session_.reset();
  retired_.clear();
  closed_.clear();
  fail_waiting(closed_status());
}

ClientStats ClientCore::stats() const {
  ClientStats stats;
  stats.connections = connections_;
  stats.connect_failures = connect_failures_;
  stats.late_answers = late_answers_ + (session_ ? session_->calls_out().late_answers() : 0);
  stats.calls_in_flight = session_ ? session_->calls_out().in_flight() : 0;
  for (const auto& session : retired_) stats.calls_in_flight += session->calls_out().in_flight();
  stats.calls_waiting = waiting_count_;
  stats.frames_skipped = host_.frames_skipped.get();
  return stats;
}

}  // namespace weft
