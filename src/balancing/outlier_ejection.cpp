// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/outlier_ejection.hpp"

#include <algorithm>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

namespace {

/// Endpoints that are looked at to find one that looks well.
constexpr std::size_t kLooksMax = 64;

}  // namespace

OutlierEjection::OutlierEjection(OutlierOptions options, std::unique_ptr<BalancingPolicy> within)
    : options_(options), within_(std::move(within)), records_(options) {
  WEFT_ASSERT(options.ejection_min > Duration::zero() && options.ejection_max >= options.ejection_min,
              "an ejection takes time");
  WEFT_ASSERT(options.window > Duration::zero() && options.window_calls_min > 0, "a window has calls");
  WEFT_ASSERT(options.slow_start > Duration::zero(), "a slow start takes time");
}

Status OutlierEjection::set_endpoints(std::span<const EndpointSpec> list) {
  if (Status set = within_->set_endpoints(list); !set.ok()) return set;
  const IndexedHeap<TimePoint> due_before = due_;
  const std::vector<std::uint32_t> before = keys_.replace(list);
  records_.carry_over(before);
  states_ = carried_over(states_, before, State{});
  due_.reset(list.size());
  counts_ = {};
  cursor_ = 0;
  for (std::uint32_t index = 0; index < states_.size(); ++index) {
    counts_.add(states_[index], 1);
    if (before[index] != kNoIndex && due_before.contains(before[index])) {
      due_.set(index, due_before.key(before[index]));
    }
  }
  return {};
}

// Subtracts with the number of all bits set.
void OutlierEjection::Counts::add(const State& state, std::size_t number) noexcept {
  const bool is_out = state.phase == Phase::kEjected;
  if (is_out) ejected += number;
  if (state.share <= 0) return;
  reachable += number;
  if (is_out) ejected_reachable += number;
  if (state.phase == Phase::kInUse || state.phase == Phase::kReturning) in_use += number;
}

double OutlierEjection::share(std::uint32_t index) const noexcept {
  const State& state = states_[index];
  switch (state.phase) {
    case Phase::kEjected:
      return 0;
    case Phase::kProbed:
      return state.has_probe ? 0 : state.share / kSteps;
    case Phase::kReturning:
      return state.share * state.step / kSteps;
    case Phase::kInUse:
      break;
  }
  return state.share;
}

void OutlierEjection::change(std::uint32_t index, const State& state) noexcept {
  ++changes_;
  counts_.add(states_[index], ~std::size_t{0});
  states_[index] = state;
  counts_.add(state, 1);
  within_->set_share(index, share(index));
}

std::size_t OutlierEjection::ejected_max() const noexcept {
  if (size() < 2 || options_.ejected_share_max <= 0) return 0;
  const auto most = static_cast<std::size_t>(options_.ejected_share_max * static_cast<double>(size()));
  return std::clamp<std::size_t>(most, 1, size() - 1);
}

void OutlierEjection::set_share(std::uint32_t index, double share) noexcept {
  WEFT_ASSERT(index < size(), "an endpoint is of the list");
  State state = states_[index];
  state.share = std::clamp(share, 0.0, 1.0);
  change(index, state);
}

void OutlierEjection::eject(std::uint32_t index, TimePoint now) noexcept {
  State state = states_[index];
  if (state.phase == Phase::kInUse && state.ejections > 0) {
    const auto served = static_cast<std::uint64_t>((now - state.since) / options_.ejection_max);
    state.ejections -= static_cast<std::uint8_t>(std::min<std::uint64_t>(served, state.ejections));
  }
  Duration time = options_.ejection_min;
  for (int doubled = 0; doubled < state.ejections && time < options_.ejection_max; ++doubled) {
    time = time > options_.ejection_max / 2 ? options_.ejection_max : time * 2;
  }
  state.ejections = static_cast<std::uint8_t>(std::min(state.ejections + 1, 63));
  state.phase = Phase::kEjected;
  state.has_probe = false;
  records_.restart(index);
  due_.set(index, Deadline::after(now, time).at());
  change(index, state);
}

void OutlierEjection::begin_probing(std::uint32_t index) noexcept {
  State state = states_[index];
  state.phase = Phase::kProbed;
  state.has_probe = false;
  records_.restart(index);
  due_.remove(index);
  change(index, state);
}

void OutlierEjection::advance(TimePoint now) noexcept {
  while (!due_.empty() && due_.top_key() <= now) {
    const std::uint32_t index = due_.top();
    State state = states_[index];
    // The time of an ejection is over, or a probe has had no end for as long.
    if (state.phase != Phase::kReturning) {
      begin_probing(index);
      continue;
    }
    if (++state.step < kSteps) {
      due_.set(index, Deadline::after(now, options_.slow_start / (kSteps - 1)).at());
    } else {
      state.phase = Phase::kInUse;
      state.since = now;
      due_.remove(index);
    }
    change(index, state);
  }
}

bool OutlierEjection::probe_early() noexcept {
  std::uint32_t first = kNoIndex;
  for (std::uint32_t index = 0; index < size(); ++index) {
    const State& state = states_[index];
    if (state.phase != Phase::kEjected || state.share <= 0) continue;
    if (first == kNoIndex || due_.key(index) < due_.key(first)) first = index;
  }
  if (first == kNoIndex) return false;
  begin_probing(first);
  return true;
}

std::optional<std::uint32_t> OutlierEjection::pick(const PickRequest& request) noexcept {
  advance(request.now);
  const std::optional<std::uint32_t> picked = within_->pick(request);
  if (picked || counts_.in_use != 0 || counts_.ejected_reachable == 0 || !request.tried.empty())
    return picked;
  return probe_early() ? within_->pick(request) : picked;
}

void OutlierEjection::begun(std::uint32_t index, TimePoint now) noexcept {
  within_->begun(index, now);
  records_.begun(index);
  if (states_[index].phase != Phase::kProbed || states_[index].has_probe) return;
  State state = states_[index];
  state.has_probe = true;
  state.since = now;
  due_.set(index, Deadline::after(now, options_.ejection_min).at());
  change(index, state);
}

void OutlierEjection::ended(std::uint32_t index, const CallReport& report) noexcept {
  within_->ended(index, report);
  const bool is_outlier = records_.note(index, report);
  const Phase phase = states_[index].phase;
  if (phase == Phase::kProbed) {
    // A call that began before the ejection says nothing about the endpoint as it is now.
    const bool is_probe = states_[index].has_probe && report.now - report.latency >= states_[index].since;
    return is_probe ? end_probe(index, report) : void();
  }
  if (phase != Phase::kEjected && is_outlier) judge(index, report.now);
}

// A probe that a backup overtook was slow, which is no reason to let more calls in.
void OutlierEjection::end_probe(std::uint32_t index, const CallReport& report) noexcept {
  if (report.outcome == CallOutcome::kIgnored) return begin_probing(index);
  if (report.outcome != CallOutcome::kSuccess) return eject(index, report.now);
  State state = states_[index];
  state.phase = Phase::kReturning;
  state.has_probe = false;
  state.step = 1;
  due_.set(index, Deadline::after(report.now, options_.slow_start / (kSteps - 1)).at());
  change(index, state);
}

void OutlierEjection::judge(std::uint32_t index, TimePoint now) noexcept {
  if (another_looks_well(index)) {
    if (counts_.ejected < ejected_max()) eject(index, now);
    return;
  }
  const double reachable = static_cast<double>(std::max<std::size_t>(counts_.reachable, 1));
  const bool few_are_left = static_cast<double>(counts_.in_use) / reachable < options_.panic_share;
  if (few_are_left && now >= may_panic_at_) end_all_ejections(now);
}

bool OutlierEjection::another_looks_well(std::uint32_t index) noexcept {
  for (std::size_t looks = std::min(size(), kLooksMax); looks > 0; --looks) {
    cursor_ = cursor_ + 1 < size() ? cursor_ + 1 : 0;
    const State& state = states_[cursor_];
    const bool is_in_use = state.phase == Phase::kInUse || state.phase == Phase::kReturning;
    if (cursor_ != index && is_in_use && state.share > 0 && records_.looks_well(cursor_, index)) return true;
  }
  return false;
}

void OutlierEjection::end_all_ejections(TimePoint now) noexcept {
  may_panic_at_ = Deadline::after(now, options_.ejection_min).at();
  for (std::uint32_t index = 0; index < size(); ++index) {
    State state = states_[index];
    records_.forget(index);
    if (state.phase == Phase::kInUse) continue;
    state.phase = Phase::kInUse;
    state.has_probe = false;
    state.since = now;
    due_.remove(index);
    change(index, state);
  }
}

}  // namespace weft::detail
