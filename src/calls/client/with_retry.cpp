// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/client/with_retry.hpp"

#include <algorithm>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/saturated.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

namespace {

/// Callers that were given the same wait must not all return at once.
Duration spread(Duration told, RandomNumbers& random) {
  return saturated_sum(told, scaled(told, random.between(0, 0.25)));
}

}  // namespace

Retries::Retries(const RetryPolicy& policy) noexcept
    : policy_(policy), backoff_(policy.wait_min, policy.wait_max) {
  WEFT_ASSERT(Loop::current() != nullptr, "calls are repeated on a loop");
  if (policy_.budget != nullptr) policy_.budget->on_call();
}

std::optional<Duration> Retries::after(const Status& failure) noexcept {
  record_.add(failure);
  if (++attempts_ >= policy_.attempts_max) return std::nullopt;
  if (!failure.unprocessed() && !policy_.idempotent) return std::nullopt;
  if (failure.retry() != Retry::kBackoff && failure.retry() != Retry::kReconnect) return std::nullopt;
  Loop& loop = *Loop::current();
  const Duration wait =
      std::max(backoff_.next(loop.random().next()), spread(failure.retry_after(), loop.random()));
  if (Deadline::after(loop.now(), wait).at() > policy_.deadline.at()) return std::nullopt;
  if (policy_.budget != nullptr && !policy_.budget->try_retry(loop.now())) return std::nullopt;
  return wait;
}

}  // namespace weft::detail
