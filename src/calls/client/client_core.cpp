// SPDX-License-Identifier: Apache-2.0
#include "calls/client/client_core.hpp"

#include <utility>

#include "calls/call/call_path.hpp"
#include "calls/client/check_options.hpp"
#include "calls/terms/call_status.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/calls/gate/client_gate.hpp"

namespace weft::detail {

namespace {

/// Number of connections that may wait for answers after a goaway.
constexpr std::size_t kRetiredMax = 8;

// With options that are no good no call has a timeout: it is refused for them, and not for a time that is
// over.
Duration default_timeout(const ClientOptions& options) {
  return check_options(options).ok() ? options.call_timeout : kNoTimeout;
}

Status closed_status() noexcept {
  return {StatusCode::kCancelled, Layer::kRpc, "the client was closed"};
}

/// Adds what a session has counted; at its end, once.
void add_counts(ClientStats& stats, Session& session) {
  stats.calls += session.calls_out().table().entered();
  stats.late_answers += session.calls_out().late_answers();
}

}  // namespace

ClientCore::ClientCore(Loop& loop, ClientOptions options, Transports transports)
    : CallTarget(loop, default_timeout(options), options.carries_metadata,
                 gate_to(options.connect, options.interceptors)),
      transports_(std::move(transports)),
      options_(std::move(options)),
      host_(ClientHost::make(loop, options_.limits, default_timeout(options_), check_options(options_))),
      reconnect_wait_(options_.reconnect_wait_min, options_.reconnect_wait_max, options_.reconnect_spread) {}

Begun ClientCore::begin_without_session(PendingCall& call, std::size_t body_bytes) {
  if (state_ == State::kClosed) return call.refuse(closed_status());
  if (const Status& misuse = host_->prepare(); !misuse.ok()) return call.refuse(misuse);
  if (body_bytes > options_.limits.body_bytes_max) {
    return call.refuse(
        over_limit("a request", body_bytes, options_.limits.body_bytes_max, "the client's", kRaiseBody));
  }
  if (waiting_.count() >= options_.limits.calls_waiting_max) {
    return call.refuse({StatusCode::kResourceExhausted, Layer::kRpc,
                        "too many calls wait for the connection already (calls_waiting_max)"});
  }
  waiting_.add(call);
  set_open_calls(nullptr);
  need_connection();
  return call.wait();
}

void ClientCore::withdraw(PendingCall& call) noexcept {
  waiting_.remove(call);
  choose_open_calls();
}

void ClientCore::choose_open_calls() {
  set_open_calls(waiting_.empty() && session_ != nullptr ? &session_->calls_out() : nullptr);
}

void ClientCore::need_connection() {
  if (state_ != State::kIdle) return;
  state_ = State::kConnecting;
  // Never on the caller's stack: an attempt that fails at once must not find its call half begun.
  loop().arm(*this, loop().now());
}

void ClientCore::on_timer() {
  const bool wanted = !waiting_.empty() || !connect_waiters_.empty();
  state_ = wanted ? State::kConnecting : State::kIdle;
  if (wanted) dialer_.dial();
}

void ClientCore::on_dialled(std::unique_ptr<Connection> connection, Duration hello_timeout) {
  if (state_ == State::kClosed) return;
  SessionSetup setup{loop(),   *this,         options_.limits,    host_->calls(),
                     logger(), hello_timeout, options_.checksums, true};
  setup.ends_in_slices = true;
  session_ = std::make_unique<Session>(setup, std::move(connection), counted_.connections + 1);
  session_->start();
}

void ClientCore::on_dial_failed(const Status& why) {
  if (state_ == State::kClosed) return;
  if (!can_never_work(why)) return failed_to_connect(why);
  ++counted_.connect_failures;
  state_ = State::kIdle;
  fail_waiting(why);
}

void ClientCore::failed_to_connect(const Status& why) {
  ++counted_.connect_failures;
  back_off();
  fail_waiting(why);
}

void ClientCore::back_off() {
  state_ = State::kBackoff;
  const TimePoint now = loop().now();
  loop().arm(*this, saturated_sum(now, reconnect_wait_.next(now, loop().random())));
}

void ClientCore::on_session_ready(Session& session) {
  if (&session != session_.get()) return;
  ++counted_.connections;
  state_ = State::kReady;
  reconnect_wait_.on_connected(loop().now());
  refused_carrier_.tell(session.connection(), logger(), loop().now());
  if (state_ != State::kReady) return;  // the logger has closed the client
  connect_waiters_.end({});
  admit_waiting();
}

void ClientCore::on_session_goaway(Session& session) {
  if (state_ == State::kClosed) return;
  if (&session == session_.get()) {
    retire_session();
    back_off();
  }
  finish_when_empty(session);
}

void ClientCore::on_session_room(Session& session) {
  session.seat().on_room();
  if (&session == session_.get()) [[likely]] {
    if (!waiting_.empty()) [[unlikely]] {
      admit_waiting();
    }
  } else {
    finish_when_empty(session);
  }
}

void ClientCore::finish_when_empty(Session& session) {
  if (session.calls_out().table().size() == 0 && !session.owes_answers()) session.finish();
}

void ClientCore::on_session_closed(Session& session, const Status& why) {
  if (state_ == State::kClosed) return;  // it is in the list of closed sessions
  add_counts(counted_, session);
  if (&session == session_.get()) {
    const bool came_up = state_ == State::kReady;
    closed_.add(std::move(session_));
    choose_open_calls();
    if (came_up) {
      back_off();
    } else if (state_ != State::kClosed) {
      failed_to_connect(why.with_context([this] { return "connect to " + options_.connect; }));
    }
  } else {
    closed_.take_over(session);
  }
  reap();
}

// A healthy server ends its old connections. A server that sends a goaway on every connection, and answers
// nothing there, would make this client keep them as long as their calls wait.
void ClientCore::retire_session() {
  if (retired_.count() >= kRetiredMax) {
    retired_.oldest().close(
        {StatusCode::kUnavailable, Layer::kRpc,
         "the server told one connection after the other to go away, and this was the oldest"});
  }
  retired_.add(std::move(session_));
  choose_open_calls();
}

void ClientCore::reap() {
  if (!reaper_.is_scheduled()) loop().schedule(reaper_);
}

void ClientCore::admit_waiting() {
  while (!waiting_.empty() && session_ != nullptr && session_->has_room()) {
    waiting_.take().begin_waiting(session_->calls_out());
  }
  choose_open_calls();
}

void ClientCore::fail_waiting(Status why) {
  why.mark_unprocessed();  // once for all of them
  connect_waiters_.end(why);
  waiting_.fail(std::move(why));
}

void ClientCore::add_connect_waiter(ConnectWaiter& waiter) {
  if (state_ == State::kClosed || !host_->prepare().ok()) {
    waiter.outcome = state_ == State::kClosed ? closed_status() : host_->prepare();
    return loop().schedule(waiter.resumption);
  }
  connect_waiters_.add(waiter);
  need_connection();
}

// The abandoned sessions may be on the stack, so a later turn, or the destructor of the core, destroys them.
void ClientCore::close() {
  if (state_ == State::kClosed) return;
  const LateEnd::Guard guard;
  state_ = State::kClosed;
  loop().disarm(*this);
  dialer_.drop();
  set_open_calls(nullptr);
  const auto abandon = [this](std::unique_ptr<Session> session) {
    add_counts(counted_, *session);
    closed_.add(std::move(session)).abandon();
  };
  if (session_ != nullptr) abandon(std::move(session_));
  while (!retired_.empty()) {
    Session& session = retired_.oldest();
    closed_.take_over(session);
    add_counts(counted_, session);
    session.abandon();
  }
  fail_waiting(closed_status());
  reap();
}

void ClientCore::end() noexcept {
  close();
  destroy_late(loop());
}

ClientStats ClientCore::stats() const noexcept {
  ClientStats stats = counted_;
  const auto add = [&stats](Session& session) {
    add_counts(stats, session);
    stats.calls_in_flight += session.calls_out().table().size();
  };
  if (session_ != nullptr) add(*session_);
  retired_.for_each(add);
  closed_.for_each(
      [&stats](Session& session) { stats.calls_in_flight += session.calls_out().table().size(); });
  stats.calls_waiting = waiting_.count();
  stats.frames_skipped = host_->calls().frames_skipped.get();
  stats.pieces_skipped = host_->calls().pieces_skipped.get();
  stats.traffic = host_->calls().traffic.sum();
  return stats;
}

}  // namespace weft::detail
