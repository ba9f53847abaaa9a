// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/least_loaded.hpp"

#include <algorithm>
#include <cmath>

#include "weft/detail/base/saturated.hpp"

namespace weft {

namespace {

constexpr FixedFailure kNoDecay{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                "LeastLoadedOptions::decay is not above zero"};
constexpr FixedFailure kNegativeLatency{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                        "LeastLoadedOptions::failure_latency is negative"};
constexpr FixedFailure kNoFailureDecay{StatusCode::kInvalidArgument, Layer::kRpc, Retry::kNever,
                                       "LeastLoadedOptions::failure_decay is not above zero"};

Status check_decay(const LeastLoadedOptions& options) noexcept {
  if (options.decay <= Duration::zero()) return Status::of<kNoDecay>();
  if (options.failure_latency < Duration::zero()) return Status::of<kNegativeLatency>();
  if (options.failure_decay <= Duration::zero()) return Status::of<kNoFailureDecay>();
  return {};
}

}  // namespace

LeastLoaded::LeastLoaded(LeastLoadedOptions options) noexcept
    : ListedPolicy(check_decay(options)), options_(options) {}

void LeastLoaded::list_changed(std::span<const std::uint32_t> before) {
  loads_ = detail::carried_over(loads_, before, Load{});
}

// Failures before the endpoint left say nothing about the endpoint that returned.
void LeastLoaded::share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept {
  if (parts_before != 0) return;
  loads_[index].nanoseconds = 0;
  loads_[index].failure = 0;
}

double LeastLoaded::kept(TimePoint at, TimePoint now) const noexcept {
  if (now <= at) return 1;
  return std::exp(-static_cast<double>((now - at).count()) / static_cast<double>(options_.decay.count()));
}

// Evenly, not by parts: a second falls to a tenth of a millisecond by parts only after nine times the time
// constant, so that one failure would keep a server of fast calls without any for as long.
double LeastLoaded::penalty(const Load& load, TimePoint now) const noexcept {
  const double whole = static_cast<double>(options_.failure_decay.count());
  const double passed = static_cast<double>(std::max(now - load.failed_at, Duration::zero()).count());
  return passed < whole ? load.failure * (1 - passed / whole) : 0;
}

double LeastLoaded::counted(const Load& load, TimePoint now) const noexcept {
  const double failure = load.failure == 0 ? 0 : penalty(load, now);
  return load.nanoseconds == 0 ? failure : std::max(failure, load.nanoseconds * kept(load.at, now));
}

Duration LeastLoaded::latency(std::uint32_t index, TimePoint now) const noexcept {
  return detail::scaled(Duration{1}, counted(loads_[index], now));
}

double LeastLoaded::cost(std::uint32_t index, TimePoint now) const noexcept {
  const Load& load = loads_[index];
  const double counts = static_cast<double>(candidates().parts(index));
  const double nanoseconds = counted(load, now);
  if (nanoseconds == 0) {
    // The first call to a server measures it; calls behind it wait for the result.
    return static_cast<double>(options_.failure_latency.count()) * load.in_flight / counts;
  }
  return nanoseconds * (load.in_flight + 1.0) / counts;
}

std::optional<std::uint32_t> LeastLoaded::pick(const PickRequest& request) noexcept {
  detail::RandomNumbers random{request.random};
  const detail::Tried tried = detail::tried_of(request);
  const std::optional<std::uint32_t> first = candidates().draw(random, tried);
  if (!first) return first;
  const std::optional<std::uint32_t> second = candidates().draw(random, tried, *first);
  if (!second) return first;
  return cost(*second, request.now) < cost(*first, request.now) ? second : first;
}

void LeastLoaded::begun(std::uint32_t index, TimePoint /*now*/) noexcept {
  ++loads_[index].in_flight;
}

void LeastLoaded::ended(std::uint32_t index, const CallReport& report) noexcept {
  Load& load = loads_[index];
  // A call that began before its endpoint came into this list was not counted.
  if (load.in_flight > 0) --load.in_flight;
  if (report.outcome == CallOutcome::kIgnored) return;
  const Duration seen = std::max(report.latency, Duration{1});
  if (report.outcome == CallOutcome::kFailure) {
    const Duration counts = std::max(seen, options_.failure_latency);
    load.failure = std::max(penalty(load, report.now), static_cast<double>(counts.count()));
    load.failed_at = std::max(load.failed_at, report.now);
    return;
  }
  const double nanoseconds = static_cast<double>(seen.count());
  const double weight = kept(load.at, report.now);
  const bool peak = load.nanoseconds == 0 || nanoseconds > load.nanoseconds;
  load.nanoseconds = peak ? nanoseconds : load.nanoseconds * weight + nanoseconds * (1 - weight);
  load.at = std::max(load.at, report.now);
}

}  // namespace weft
