// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/adaptive_limit.hpp"

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

AdaptiveLimit::AdaptiveLimit(AdaptiveLimitOptions options, TimePoint now) noexcept
    : limit_(options.limit_initial), next_tick_(0), controller_(options, now) {
  publish();
}

bool AdaptiveLimit::try_begin(TimePoint now, std::uint32_t spare) noexcept {
  tick(now);
  std::uint32_t in_flight = in_flight_.load(std::memory_order_relaxed);
  do {
    if (!has_place(in_flight, spare)) return false;
  } while (!in_flight_.compare_exchange_weak(in_flight, in_flight + 1, std::memory_order_relaxed));
  return true;
}

bool AdaptiveLimit::is_full(TimePoint now, std::uint32_t spare) noexcept {
  tick(now);
  return !has_place(in_flight(), spare);
}

void AdaptiveLimit::dropped() noexcept {
  const std::uint32_t before = in_flight_.fetch_sub(1, std::memory_order_relaxed);
  WEFT_ASSERT(before > 0, "each call that ends has begun");
}

void AdaptiveLimit::ended(TimePoint now, Duration latency) noexcept {
  const std::uint32_t before = in_flight_.fetch_sub(1, std::memory_order_relaxed);
  WEFT_ASSERT(before > 0, "each call that ends has begun");
  const std::unique_lock lock(controlling_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  controller_.ended(now, latency, before - 1);
  publish();
}

void AdaptiveLimit::cancelled(TimePoint now, Duration latency) noexcept {
  if (latency > latency_without_load()) return ended(now, latency);
  dropped();
}

void AdaptiveLimit::tick(TimePoint now) noexcept {
  if (now.time_since_epoch().count() < next_tick_.load(std::memory_order_relaxed)) [[likely]] {
    return;
  }
  const std::unique_lock lock(controlling_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  controller_.tick(now, in_flight());
  publish();
}

void AdaptiveLimit::publish() noexcept {
  limit_.store(controller_.limit(), std::memory_order_relaxed);
  unloaded_.store(controller_.latency_without_load().count(), std::memory_order_relaxed);
  next_tick_.store(controller_.next_tick().time_since_epoch().count(), std::memory_order_relaxed);
}

}  // namespace weft::detail
