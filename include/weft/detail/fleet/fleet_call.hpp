// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/call/awaited_call.hpp"
#include "weft/detail/calls/terms/answer.hpp"
#include "weft/detail/coro/combine.hpp"
#include "weft/detail/coro/with_scope.hpp"
#include "weft/detail/fleet/fleet_run.hpp"
#include "weft/detail/fleet/turn_of_loop.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft::detail {

/// Body of one attempt of a call: refers to the `Source` that all attempts share, and has an answer of its
/// own.
template <typename B, typename Source>
concept AttemptBody = CallBody<B> && std::constructible_from<B, const Source&>;

template <typename Body>
using FleetOutcome = Result<Answer<typename Body::Value>>;

/// One attempt at `member`, which is connected.
template <typename Body, typename Source>
Task<FleetOutcome<Body>> fleet_attempt(FleetRun& run, FleetMember& member, const Source& source,
                                       bool with_attachment) {
  // The fleet may have been closed since the member was found.
  if (member.pool == nullptr) co_return run.core().misuse();
  FleetAttempt attempt{run, member};
  WithDetails details{run.attempt_options(), with_attachment};
  AwaitedCall<Body, Returns::kAnswer, WithDetails> call{member.pool->target(), run.method(),
                                                        std::move(details), source};
  FleetOutcome<Body> answer = co_await call;
  attempt.end(answer.status());
  co_return answer;
}

/// Keeps a member while an attempt may still use it.
class FleetHold {
 public:
  FleetHold(FleetCore& core, FleetMember& member) : core_(core), member_(member) {
    core_.list().retain(member_);
  }
  FleetHold(const FleetHold&) = delete;
  FleetHold& operator=(const FleetHold&) = delete;
  ~FleetHold() { core_.list().release(member_); }

 private:
  FleetCore& core_;
  FleetMember& member_;
};

/// Attempts, one after the other, until one succeeds or there shall be no more.
template <typename Body, typename Source>
Task<FleetOutcome<Body>> fleet_attempts(FleetRun& run, const Source& source, bool with_attachment) {
  while (true) {
    FleetStep step = run.choose();
    if (step.kind == FleetStep::Kind::kEnd) co_return std::move(step.failure);
    if (step.kind == FleetStep::Kind::kWait) {
      Task<Result<void>> waiting = run.wait();
      Result<void> waited = co_await std::move(waiting);
      if (!waited.ok()) co_return waited.status();
      continue;
    }
    FleetMember& member = *step.member;
    const FleetHold held{run.core(), member};
    Task<FleetOutcome<Body>> attempt = fleet_attempt<Body>(run, member, source, with_attachment);
    FleetOutcome<Body> answer = co_await std::move(attempt);
    if (answer.ok()) co_return answer;
    if (!run.wants_another(member, answer.status())) co_return FleetRun::failed_at(member, answer.status());
  }
}

/// A call and its backup, which share one FleetRun so that they do not meet at one server.
struct BackedUp {
  explicit BackedUp(CancelScope* outer) : first(outer), backup(outer) {}

  CancelScope first;
  CancelScope backup;
  bool first_ended = false;
  bool begun = false;
};

template <typename Body, typename Source>
Task<FleetOutcome<Body>> fleet_first(FleetRun& run, BackedUp& both, const Source& source,
                                     bool with_attachment) {
  Task<FleetOutcome<Body>> attempts = fleet_attempts<Body>(run, source, with_attachment);
  FleetOutcome<Body> answer = co_await std::move(attempts);
  both.first_ended = true;
  if (!both.begun || answer.ok()) both.backup.cancel(CancelReason::kRequested);
  co_return answer;
}

template <typename Body, typename Source>
Task<FleetOutcome<Body>> fleet_backup(FleetRun& run, BackedUp& both, const Source& source,
                                      bool with_attachment) {
  SleepAwaiter delay = sleep_for(run.backup_after());
  Result<void> waited = co_await delay;
  if (!waited.ok()) co_return waited.status();
  if (both.first_ended) co_return to_status(CancelReason::kRequested);
  if (!run.core().try_retry()) co_return to_status(CancelReason::kRequested);
  both.begun = true;
  ++run.core().counted().backups;
  Task<FleetOutcome<Body>> attempts = fleet_attempts<Body>(run, source, with_attachment);
  FleetOutcome<Body> answer = co_await std::move(attempts);
  if (answer.ok()) {
    run.overtake();
    both.first.cancel(CancelReason::kRequested);
  }
  co_return answer;
}

template <typename Body, typename Source>
Task<FleetOutcome<Body>> fleet_backed_up(FleetRun& run, const Source& source, bool with_attachment) {
  CancelScope* outer = co_await this_cancel_scope();
  BackedUp both{outer};
  auto first = with_scope(both.first, fleet_first<Body>(run, both, source, with_attachment));
  auto backup = with_scope(both.backup, fleet_backup<Body>(run, both, source, with_attachment));
  auto all = when_all(std::move(first), std::move(backup));
  auto answers = co_await std::move(all);
  const bool backup_won = std::get<1>(answers).ok() && !std::get<0>(answers).ok();
  if (!backup_won) co_return std::move(std::get<0>(answers));
  ++run.core().counted().backups_won;
  co_return std::move(std::get<1>(answers));
}

/// A whole call. `source` is kept in its frame.
template <typename Body, typename Source>
  requires AttemptBody<Body, Source>
Task<FleetOutcome<Body>> fleet_call(std::shared_ptr<FleetCore> core, const MethodKey& method,
                                    FleetCallOptions options, Source source, bool with_attachment) {
  CancelScope* scope = co_await this_cancel_scope();
  core->on_call();
  TurnOfLoop turn{core->loop()};
  co_await turn;
  FleetRun run{std::move(core), method, options, scope};
  Task<FleetOutcome<Body>> attempts = run.backup_after() > Duration::zero()
                                          ? fleet_backed_up<Body>(run, source, with_attachment)
                                          : fleet_attempts<Body>(run, source, with_attachment);
  FleetOutcome<Body> answer = co_await std::move(attempts);
  if (!answer.ok()) co_return run.outcome(std::move(answer).status());
  co_return answer;
}

/// The value of an answer, without its attachment.
template <typename R>
Result<R> value_of(Result<Answer<R>>&& answer) {
  if (!answer.ok()) return answer.status();
  if constexpr (std::is_void_v<R>) {
    return {};
  } else {
    return std::move(answer->value);
  }
}

/// One attempt at one server of the list, when it is connected.
template <typename Body, typename Source>
Task<Result<typename Body::Value>> fleet_call_at(std::shared_ptr<FleetCore> core, FleetMember& member,
                                                 const MethodKey& method, FleetCallOptions options,
                                                 const Source& source) {
  CancelScope* scope = co_await this_cancel_scope();
  FleetRun run{core, method, options, scope};
  Task<Result<void>> waiting = run.wait_for(member);
  Result<void> ready = co_await std::move(waiting);
  if (!ready.ok()) co_return run.outcome(ready.status());
  Task<FleetOutcome<Body>> attempt = fleet_attempt<Body>(run, member, source, false);
  FleetOutcome<Body> answer = co_await std::move(attempt);
  if (!answer.ok()) co_return run.outcome(std::move(answer).status());
  co_return value_of(std::move(answer));
}

}  // namespace weft::detail
