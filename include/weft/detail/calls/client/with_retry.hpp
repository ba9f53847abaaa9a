// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>
#include <utility>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/attempt_record.hpp"
#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/limits/backoff.hpp"
#include "weft/detail/limits/retry_budget.hpp"
#include "weft/detail/runtime/sleep.hpp"

namespace weft {

/// Says how often and when with_retry() tries again. It is trivially copyable on purpose, as CallOptions are.
struct RetryPolicy {
  /// Number of attempts, the first included.
  std::uint32_t attempts_max = 4;
  /// The wait before the next attempt grows from `wait_min` to `wait_max`, doubled and jittered each time. It
  /// is longer if the failure requests that (Status::retry_after()).
  Duration wait_min = std::chrono::milliseconds{10};
  Duration wait_max = std::chrono::seconds{1};
  /// Repeats also what may have run: to do it twice does no harm.
  bool idempotent = false;
  /// No attempt begins later than this; a wait that would end later is not begun. Without it the wait before
  /// each attempt may be up to kRetryAfterMax, if a server requests that. The deadline of the calling
  /// coroutine applies as well.
  Deadline deadline{};
  /// Bounds the retries of all who share it; null: nothing does. It belongs to the same loop, and outlives
  /// the calls.
  RetryBudget* budget = nullptr;
};

namespace detail {

/// Decides whether and when an attempt that failed is made once more. Thread: a loop's.
class Retries {
 public:
  explicit Retries(const RetryPolicy& policy) noexcept;

  /// Returns the wait before the next attempt; none when `failure` is the outcome.
  std::optional<Duration> after(const Status& failure) noexcept;
  /// Returns `failure`, that of the last attempt, as the failure of all of them.
  Status outcome(Status failure) const noexcept { return record_.outcome(std::move(failure)); }

 private:
  const RetryPolicy policy_;
  Backoff backoff_;
  AttemptRecord record_;
  std::uint32_t attempts_ = 0;
};

}  // namespace detail

/// Makes a call, and repeats it as long as its failure's advice is kBackoff or kReconnect and `policy` allows
/// it. The result of `attempt` is awaited, and must be a Result. Without RetryPolicy::idempotent only calls
/// that certainly have not run are repeated (Status::unprocessed()). The outcome is that of the last attempt,
/// except that unprocessed() of a failure is true only if no attempt may have run.
///
///     auto answer = co_await weft::with_retry(policy, [&] { return client.call<f>(x); });
///
/// `attempt` may capture by reference, because it lives as long as the await; it is called once for each
/// attempt. Each attempt has the call's own timeout. Cancel: that of the attempt; during a wait the outcome
/// is the failure before it.
template <typename Attempt>
  requires detail::Awaitable<std::invoke_result_t<Attempt&>>
Task<detail::AwaitResult<std::invoke_result_t<Attempt&>>> with_retry(RetryPolicy policy, Attempt attempt) {
  static_assert(std::is_trivially_destructible_v<Attempt>,
                "weft cannot retry this: g++ 12 would destroy what the lambda captures twice; capture by "
                "reference");
  detail::Retries retries{policy};
  for (;;) {
    auto task = detail::as_task(attempt());
    auto outcome = co_await std::move(task);
    if (outcome.ok()) co_return outcome;
    const std::optional<Duration> wait = retries.after(outcome.status());
    if (!wait) co_return retries.outcome(std::move(outcome).status());
    const auto slept = co_await sleep_for(*wait);
    if (!slept.ok()) co_return retries.outcome(std::move(outcome).status());
  }
}

}  // namespace weft
