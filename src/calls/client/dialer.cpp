// SPDX-License-Identifier: Apache-2.0
#include "calls/client/dialer.hpp"

#include <algorithm>
#include <exception>
#include <new>
#include <utility>

#include "calls/client/reachable_url.hpp"
#include "calls/session/session.hpp"

namespace weft::detail {

namespace {

/// The time of an attempt is the client's own: a call that waits for it may have no deadline at all.
Status not_in_time_is_unavailable(const Status& why) {
  if (why.code() != StatusCode::kDeadlineExceeded) return why;
  return {StatusCode::kUnavailable, why.layer(), why.message(), why.native()};
}

/// The failure of an attempt that threw.
Status status_of(const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    return Status::of<kOutOfMemory>();
  } catch (const std::exception& exception) {
    return {StatusCode::kUnavailable, Layer::kTransport, exception.what()};
  } catch (...) {
    return {StatusCode::kUnavailable, Layer::kTransport, "the transport threw something unknown"};
  }
}

}  // namespace

bool can_never_work(const Status& why) noexcept {
  const bool is_misuse =
      why.code() == StatusCode::kInvalidArgument || why.code() == StatusCode::kUnimplemented;
  return is_misuse && why.retry() == Retry::kNever;
}

// Destroy the rest of the last attempt first: it may have ended in this very turn.
void Dialer::dial() {
  loop_.unschedule(reaper_);
  try {
    attempt_ = attempt();
  } catch (const std::bad_alloc&) {
    return fail(Status::of<kOutOfMemory>());
  }
  detail::start(attempt_, nullptr, attempt_end_);
}

void Dialer::drop() {
  if (!attempt_) return;
  if (!loop_.in_turn()) return attempt_.reset();
  loop_.unschedule(reaper_);
  loop_.schedule_first(reaper_);
}

Task<void> Dialer::attempt() {
  Result<Url> url = Url::parse(options_.connect);
  if (!url.ok()) {
    fail(url.status());
    co_return;
  }
  if (const Status reachable = check_reachable(*url); !reachable.ok()) {
    fail(reachable);
    co_return;
  }
  Result<Transport*> transport = transports_.find(*url);
  if (!transport.ok()) {
    fail(transport.status());
    co_return;
  }
  ConnectOptions connect;
  const Deadline deadline = Deadline::after(loop_.read_clock(), options_.connect_timeout);
  connect.deadline = deadline;
  connect.local_address = options_.local_address;
  connect.connection = connection_options(options_.limits);
  Task<Result<std::unique_ptr<Connection>>> connecting =
      (*transport)->connect(loop_, *url, std::move(connect));
  Result<std::unique_ptr<Connection>> connection = co_await std::move(connecting);
  if (!connection.ok()) {
    fail(connection.status());
    co_return;
  }
  // A late loop has not yet given the peer time to send its hello.
  Duration left = deadline.remaining(loop_.now());
  if (loop_.turn_time().absence().was_late(loop_.now())) {
    left = std::max(left, std::min(options_.connect_timeout, Absence::kLook));
  }
  owner_.on_dialled(std::move(*connection), left);
}

void Dialer::fail(const Status& why) {
  owner_.on_dial_failed(not_in_time_is_unavailable(why));
}

void Dialer::AttemptEnd::ended(Completion& self, TaskPromiseBase& task) noexcept {
  Dialer& dialer = static_cast<AttemptEnd&>(self).dialer;
  if (task.failed()) {
    dialer.fail(status_of(task.error).with_context([&] { return "connect to " + dialer.options_.connect; }));
  }
  if (!dialer.reaper_.is_scheduled()) dialer.loop_.schedule(dialer.reaper_);
}

}  // namespace weft::detail
