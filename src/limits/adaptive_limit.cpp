// SPDX-License-Identifier: Apache-2.0
#include "weft/limits/adaptive_limit.hpp"

#include <algorithm>
#include <cmath>

#include "weft/detail/base/assert.hpp"

namespace weft {

AdaptiveLimit::AdaptiveLimit(AdaptiveLimitOptions options, TimePoint now) noexcept
    : options_(options), limit_(options.limit_initial), window_began_(now), probe_at_(now) {
  WEFT_ASSERT(options.limit_initial >= 1 && options.limit_initial <= options.limit_max,
              "the first limit is from 1 to limit_max");
  WEFT_ASSERT(options.tolerance > 1, "a tolerance of 1 or less lowers the limit always");
  WEFT_ASSERT(options.window > Duration::zero() && options.window_calls_min > 0, "a window has calls");
  WEFT_ASSERT(options.probe_time_max > Duration::zero(), "a probe has time");
  WEFT_ASSERT(options.probe_limit > 0 && options.probe_calls > 0, "a probe has calls");
  begin_probe(now);
}

std::uint32_t AdaptiveLimit::limit() const noexcept {
  const auto whole = static_cast<std::uint32_t>(limit_);
  return probing_ ? std::min(whole, options_.probe_limit) : whole;
}

bool AdaptiveLimit::try_begin(TimePoint now) noexcept {
  if (probing_) {
    // Without a latency to compare with there is nothing to go back to, and the first probe has its time.
    if (unloaded_ > 0 && now - probe_at_ > options_.probe_time_max) end_probe(now);
  } else if (now >= probe_at_) {
    begin_probe(now);
  }
  if (in_flight_ >= limit()) return false;
  ++in_flight_;
  most_in_flight_ = std::max(most_in_flight_, in_flight_);
  return true;
}

void AdaptiveLimit::dropped() noexcept {
  WEFT_ASSERT(in_flight_ > 0, "each call that ends has begun");
  --in_flight_;
}

void AdaptiveLimit::ended(TimePoint now, Duration latency) noexcept {
  dropped();
  const double nanoseconds = std::max(1.0, static_cast<double>(latency.count()));
  if (probing_) return probe(now, now - latency, nanoseconds);
  sum_.add(nanoseconds);
  if (now - window_began_ >= options_.window && sum_.calls >= options_.window_calls_min) end_window(now);
}

void AdaptiveLimit::begin_probe(TimePoint now) noexcept {
  probing_ = true;
  probe_drained_ = in_flight_ < limit();
  probe_at_ = now;
  sum_ = {};
}

void AdaptiveLimit::probe(TimePoint now, TimePoint began, double latency) noexcept {
  // Calls that began before the others had drained have waited in the queue that is not to be measured.
  if (!probe_drained_) {
    probe_drained_ = in_flight_ < limit();
    if (probe_drained_) probe_at_ = now;
    return;
  }
  if (began < probe_at_) return;
  sum_.add(latency);
  if (sum_.calls >= options_.probe_calls) end_probe(now);
}

void AdaptiveLimit::end_probe(TimePoint now) noexcept {
  // Few calls of a server that has become slow say more than many of what it was before.
  if (sum_.calls > 0) unloaded_ = sum_.mean();
  probing_ = false;
  probe_at_ = now + options_.probe_interval;
  begin_window(now);
}

void AdaptiveLimit::begin_window(TimePoint now) noexcept {
  sum_ = {};
  most_in_flight_ = in_flight_;
  window_began_ = now;
}

void AdaptiveLimit::end_window(TimePoint now) noexcept {
  const double mean = sum_.mean();
  unloaded_ = std::min(unloaded_, mean);
  const double gradient = std::clamp(options_.tolerance * unloaded_ / mean, 0.5, 1.0);
  const double next = limit_ * gradient + std::sqrt(limit_);
  // A limit that nobody reaches says nothing about whether more would be borne.
  const bool used = most_in_flight_ * 2.0 >= limit_;
  if (next < limit_ || used) limit_ = std::clamp(next, 1.0, static_cast<double>(options_.limit_max));
  begin_window(now);
}

}  // namespace weft
