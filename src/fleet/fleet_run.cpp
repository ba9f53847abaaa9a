// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_run.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "fleet/check_options.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/calls/terms/peer_says.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::detail {

namespace {

Deadline deadline_of(const FleetCore& core, const CallOptions& call, const CancelScope* scope) {
  const TimePoint now = core.loop().now();
  const Duration timeout =
      call.timeout == Duration::zero() ? core.pool_options().client.call_timeout : call.timeout;
  Deadline deadline = Deadline::after(now, timeout).earlier(call.deadline);
  return scope != nullptr ? deadline.earlier(scope->deadline()) : deadline;
}

/// A failure that this side found in an answer: the peer's own words begin otherwise, and a call that could
/// not be written was not sent.
bool is_unreadable_answer(const Status& status) {
  return status.code() == StatusCode::kInvalidArgument && status.layer() == Layer::kCodec &&
         !status.unprocessed() && !status.message().starts_with(kPeerSays);
}

// All servers of a fleet must serve the same methods, so a server is at fault if it lacks a method, has
// another signature, or has a handler that implements nothing. If all servers do so, none is an outlier.
CallOutcome outcome_of(const Status& status) {
  if (status.ok()) return CallOutcome::kSuccess;
  if (status.layer() == Layer::kRpc && status.code() == StatusCode::kFailedPrecondition) {
    return CallOutcome::kFailure;
  }
  if (is_unreadable_answer(status)) return CallOutcome::kFailure;
  switch (status.code()) {
    case StatusCode::kUnimplemented:
    case StatusCode::kUnavailable:
    case StatusCode::kResourceExhausted:
    case StatusCode::kDeadlineExceeded:
    case StatusCode::kInternal:
    case StatusCode::kDataLoss:
      return CallOutcome::kFailure;
    case StatusCode::kUnknown:
      // An exception that a handler did not catch; an error of the user's own is an answer, and has a code.
      if (status.layer() == Layer::kUser && status.native() == 0) return CallOutcome::kFailure;
      [[fallthrough]];
    default:
      return status.layer() == Layer::kUser ? CallOutcome::kSuccess : CallOutcome::kIgnored;
  }
}

}  // namespace

// Two answers would mix in one landing, count as one progress, replace each other's metadata, and together
// exceed one rate.
std::string_view option_for_one_answer(const CallOptions& options) noexcept {
  if (!options.landing.empty()) return "landing";
  if (options.landing_rate != 0) return "landing_rate";
  if (options.progress != nullptr) return "progress";
  if (options.answer_metadata != nullptr) return "answer_metadata";
  return {};
}

FleetRun::FleetRun(std::shared_ptr<FleetCore> core, const MethodKey& method, const FleetCallOptions& options,
                   const CancelScope* scope)
    : core_(std::move(core)),
      method_(method),
      options_(options),
      retry_(options.retry != nullptr ? *options.retry : core_->options().retry),
      deadline_(deadline_of(*core_, options.call, scope)),
      backoff_(retry_.backoff_min, retry_.backoff_max),
      idempotent_(options.call.idempotent || method.idempotent) {
  if (options.retry != nullptr) misuse_ = check_options(*options.retry);
}

CallOptions FleetRun::attempt_options() const {
  CallOptions options = options_.call;
  options.timeout = retry_.attempt_timeout;
  options.deadline = deadline_;
  options.idempotent = idempotent_;
  return options;
}

Duration FleetRun::backup_after() const {
  if (!idempotent_ || !option_for_one_answer(options_.call).empty()) return Duration::zero();
  return options_.backup_after < Duration::zero() ? core_->options().backup_after : options_.backup_after;
}

FleetStep FleetRun::choose() {
  wait_ = Duration::zero();
  waits_as_told_ = false;
  if (const Status& misuse = core_->misuse(); !misuse.ok()) return FleetStep::end_with(misuse);
  if (!misuse_.ok()) return FleetStep::end_with(misuse_);
  if (is_expired()) return FleetStep::end_with(out_of_time());
  if (lists_ != core_->counted().lists) {
    // The places of the list before mean others now.
    lists_ = core_->counted().lists;
    tried_count_ = 0;
  }
  const std::span tried{tried_.data(), tried_count_};
  TimePoint quiet_until = TimePoint::min();
  const TimePoint now = core_->loop().now();
  const bool patience = now < patient_until_;
  bool dialing = false;
  if (FleetMember* member =
          core_->pick(method_.id, options_.key_hash, tried, patience, dialing, quiet_until)) {
    return FleetStep::attempt_at(*member);
  }
  if (Status failure = core_->hopeless(); !failure.ok()) return FleetStep::end_with(std::move(failure));
  if (dialing && patience) {
    patient_until_ = std::min(patient_until_, now + FleetMember::kDialPatience);
    return FleetStep::to_wait();
  }
  if (tried_count_ != 0) {
    // All available servers were tried: the same again, but not at once.
    tried_count_ = 0;
    wait_ = std::max(backoff_.next(core_->random()), std::exchange(retry_after_, Duration::zero()));
    return FleetStep::to_wait();
  }
  const Duration quiet = quiet_until - now;
  if (quiet <= Duration::zero()) return FleetStep::to_wait();
  if (deadline_.expired(quiet_until)) {
    return FleetStep::end_with(told_to_wait("for longer than the call has time, every server of \"", quiet));
  }
  ++core_->counted().waits_told;
  wait_ = core_->spread(quiet);
  if (deadline_.expired(saturated_sum(core_->loop().now(), wait_))) wait_ = quiet;
  waits_as_told_ = true;
  return FleetStep::to_wait();
}

Task<Result<void>> FleetRun::wait() {
  const TimePoint now = core_->loop().now();
  if (wait_ > Duration::zero()) return wait_until(saturated_sum(now, wait_), waits_as_told_);
  return wait_until(now + FleetMember::kDialPatience, true);
}

Task<Result<void>> FleetRun::wait_until(TimePoint at, bool for_change) {
  const bool last = deadline_.expired(at);
  const Deadline until = deadline_.earlier(Deadline{at});
  if (for_change) {
    Task<Result<void>> waiting = with_deadline(until, core_->changed());
    Result<void> changed = co_await std::move(waiting);
    if (changed.ok()) co_return Result<void>{};
    if (changed.status().code() != StatusCode::kDeadlineExceeded) co_return changed;
  } else {
    SleepAwaiter pause = sleep_until(until.at());
    Result<void> slept = co_await pause;
    if (!slept.ok()) co_return slept;
  }
  if (last) co_return out_of_time();
  co_return Result<void>{};
}

Status FleetRun::out_of_time() const {
  // The reason of the call's own attempt tells more than the state of servers that it did not ask.
  const Status why = failure_.ok() ? core_->reason() : failure_;
  return {StatusCode::kDeadlineExceeded, Layer::kRpc,
          [&] { return "the time of the call is over: " + std::string{why.message()}; }};
}

Status FleetRun::out_of_time_for(const FleetMember& member) {
  return {StatusCode::kDeadlineExceeded, Layer::kRpc, [&] {
            const std::string over = "the time of the call is over: ";
            if (!member.failure.ok()) return over + std::string{member.failure.message()};
            return over + "connect to " + member.url + ": no answer yet";
          }};
}

Status FleetRun::told_to_wait(std::string_view who, Duration wait) const {
  Status failure{StatusCode::kResourceExhausted, Layer::kRpc,
                 [&] { return std::string{who} + core_->options().name + "\" asked not to be called yet"; },
                 0, Retry::kBackoff};
  failure.set_retry_after(wait);
  return failure;
}

Task<Result<void>> FleetRun::wait_for(FleetMember& member) {
  if (!misuse_.ok()) co_return misuse_;
  while (core_->misuse().ok()) {
    if (member.index == FleetMember::kGone) {
      co_return Status{StatusCode::kUnavailable, Layer::kRpc, "the server left the list"};
    }
    const TimePoint now = core_->loop().now();
    const Duration quiet = member.quiet.until(method_.id, now) - now;
    if (quiet > Duration::zero()) co_return told_to_wait("a server of \"", quiet);
    if (core_->connect(member)) co_return Result<void>{};
    if (member.link == FleetMember::Link::kDown) co_return member.failure;
    Task<Result<void>> waiting = with_deadline(deadline_, core_->changed());
    Result<void> waited = co_await std::move(waiting);
    if (waited.ok()) continue;
    if (waited.status().code() == StatusCode::kDeadlineExceeded) co_return out_of_time_for(member);
    co_return waited;
  }
  co_return core_->misuse();
}

bool FleetRun::wants_another(const FleetMember& member, const Status& failure) {
  if (failure.code() == StatusCode::kCancelled || !core_->misuse().ok() || is_expired()) return false;
  if (!failure.unprocessed() && !idempotent_) return false;
  bool wanted = false;
  switch (failure.code()) {
    case StatusCode::kUnavailable:
      wanted = retry_.on_unavailable;
      break;
    case StatusCode::kResourceExhausted:
      wanted = retry_.on_overload && failure.retry() != Retry::kNever;
      break;
    case StatusCode::kDeadlineExceeded:
      wanted = retry_.on_timeout;
      break;
    default:
      wanted = failure.retry() != Retry::kNever;
  }
  if (!wanted || attempts_ >= retry_.attempts_max) return false;
  // What never left this side costs no server anything.
  const bool is_free = failure.unprocessed() && failure.retry() == Retry::kReconnect;
  if (!is_free && !core_->try_retry()) return false;
  // The member knows of the wait that its server told.
  const bool is_known = failure.unprocessed() && core_->options().waits_as_told;
  if (!is_known) retry_after_ = std::max(retry_after_, failure.retry_after());
  ++core_->counted().retries;
  failure_ = failed_at(member, failure);
  return true;
}

Status FleetRun::failed_at(const FleetMember& member, const Status& failure) noexcept {
  if (failure.layer() == Layer::kUser || failure.code() == StatusCode::kCancelled) return failure;
  return failure.with_context([&] { return member.url; });
}

void FleetRun::note_attempt(const FleetMember& member) noexcept {
  ++attempts_;
  if (tried_count_ < kTriedMax) tried_[tried_count_++] = member.index;
}

FleetAttempt::FleetAttempt(FleetRun& run, FleetMember& member)
    : core_(run.core()),
      run_(run),
      member_(member),
      since_(core_.loop().now()),
      reported_(core_.begun(member, since_)) {
  run.note_attempt(member);
}

FleetAttempt::~FleetAttempt() {
  if (!ended_) {
    run_.note_dropped();
    report(run_.is_overtaken() ? CallOutcome::kOvertaken : CallOutcome::kIgnored);
  }
  core_.list().release(member_);
}

void FleetAttempt::end(const Status& outcome) noexcept {
  ended_ = true;
  run_.note_end(outcome);
  const bool rests = core_.told(member_, run_.method().id, outcome);
  if (rests || is_told_already(outcome)) return report(CallOutcome::kIgnored);
  const bool overtaken = run_.is_overtaken() && outcome.code() == StatusCode::kCancelled;
  const bool timed_out = outcome.code() == StatusCode::kDeadlineExceeded;
  report(overtaken ? CallOutcome::kOvertaken : outcome_of(outcome), timed_out);
}

// A server that goes down fails all its calls. They count as one report together, or each restart under load
// would eject a server.
bool FleetAttempt::is_told_already(const Status& outcome) noexcept {
  if (outcome.code() != StatusCode::kUnavailable) return false;
  const TimePoint now = core_.loop().now();
  return std::exchange(member_.unavailable_at, now) == now;
}

void FleetAttempt::report(CallOutcome outcome, bool timed_out) noexcept {
  const TimePoint now = core_.loop().now();
  core_.ended(member_, reported_, {now, outcome, now - since_, timed_out});
}

}  // namespace weft::detail
