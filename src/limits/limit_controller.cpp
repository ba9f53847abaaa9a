// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/limit_controller.hpp"

#include <algorithm>
#include <cmath>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/saturated.hpp"

namespace weft::detail {

LimitController::LimitController(AdaptiveLimitOptions options, TimePoint now) noexcept
    : options_(options), limit_(options.limit_initial), window_began_(now), probe_at_(now) {
  WEFT_ASSERT(options.limit_initial >= 1 && options.limit_initial <= options.limit_max,
              "the first limit is from 1 to limit_max");
  WEFT_ASSERT(options.tolerance > 1, "a tolerance of 1 or less lowers the limit always");
  WEFT_ASSERT(options.window > Duration::zero() && options.window_calls_min > 0, "a window has calls");
  WEFT_ASSERT(options.probe_time_max > Duration::zero(), "a probe has time");
  WEFT_ASSERT(options.probe_limit > 0 && options.probe_calls > 0, "a probe has calls");
  begin_probe(now, 0);
}

std::uint32_t LimitController::limit() const noexcept {
  const auto whole = static_cast<std::uint32_t>(limit_);
  return probing_ ? std::min(whole, options_.probe_limit) : whole;
}

void LimitController::tick(TimePoint now, std::uint32_t in_flight) noexcept {
  if (now < next_tick()) return;
  if (probing_) return end_probe(now, in_flight);
  begin_probe(now, in_flight);
}

// Without a latency to compare with there is nothing to go back to, and the first probe has its time.
TimePoint LimitController::next_tick() const noexcept {
  if (!probing_) return probe_at_;
  if (unloaded_ <= 0) return TimePoint::max();
  return saturated_sum(saturated_sum(probe_at_, options_.probe_time_max), Duration{1});
}

void LimitController::ended(TimePoint now, Duration latency, std::uint32_t in_flight) noexcept {
  // Beginnings are not reported, so the highest number in flight is the one right before an end.
  most_in_flight_ = std::max(most_in_flight_, in_flight + 1);
  const double nanoseconds = std::max(1.0, static_cast<double>(latency.count()));
  if (probing_)
    return probe(now, saturated_sum(now, -std::max(latency, Duration::zero())), nanoseconds, in_flight);
  sum_.add(nanoseconds);
  const bool whole = now - window_began_ >= options_.window && sum_.calls >= options_.window_calls_min;
  if (whole) end_window(now, in_flight);
}

void LimitController::begin_probe(TimePoint now, std::uint32_t in_flight) noexcept {
  probing_ = true;
  probe_drained_ = in_flight < limit();
  probe_at_ = now;
  sum_ = {};
}

void LimitController::probe(TimePoint now, TimePoint call_began, double latency,
                            std::uint32_t in_flight) noexcept {
  // Calls that began before the others had drained have waited in the queue that is not to be measured.
  if (!probe_drained_) {
    probe_drained_ = in_flight < limit();
    if (probe_drained_) probe_at_ = now;
    return;
  }
  if (call_began < probe_at_) return;
  sum_.add(latency);
  if (sum_.calls >= options_.probe_calls) end_probe(now, in_flight);
}

void LimitController::end_probe(TimePoint now, std::uint32_t in_flight) noexcept {
  // After a server has become slow, its few new calls count more than many old ones.
  if (sum_.calls > 0) unloaded_ = sum_.mean();
  probing_ = false;
  probe_at_ = saturated_sum(now, options_.probe_interval);
  begin_window(now, in_flight);
}

void LimitController::begin_window(TimePoint now, std::uint32_t in_flight) noexcept {
  sum_ = {};
  most_in_flight_ = in_flight;
  window_began_ = now;
}

void LimitController::end_window(TimePoint now, std::uint32_t in_flight) noexcept {
  const double mean = sum_.mean();
  unloaded_ = std::min(unloaded_, mean);
  const double gradient = std::clamp(options_.tolerance * unloaded_ / mean, 0.5, 1.0);
  const double next = limit_ * gradient + std::sqrt(limit_);
  // An unused limit gives no information about a higher one.
  const bool used = most_in_flight_ * 2.0 >= limit_;
  if (next < limit_ || used) limit_ = std::clamp(next, 1.0, static_cast<double>(options_.limit_max));
  begin_window(now, in_flight);
}

}  // namespace weft::detail
