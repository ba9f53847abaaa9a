// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/outlier_ejection.hpp"

#include <algorithm>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

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
  ejected_ = healthy_ = 0;
  for (std::uint32_t index = 0; index < states_.size(); ++index) {
    ejected_ += static_cast<std::size_t>(states_[index].phase == Phase::kEjected);
    healthy_ += static_cast<std::size_t>(is_healthy(states_[index]));
    if (before[index] != kNoIndex && due_before.contains(before[index])) {
      due_.set(index, due_before.key(before[index]));
    }
  }
  weigh_panic();
  return {};
}

double OutlierEjection::share(std::uint32_t index) const noexcept {
  const State& state = states_[index];
  if (panics_) return state.share;
  if (state.phase == Phase::kEjected) return 0;
  if (state.phase == Phase::kReturning) return state.share * state.step / kSteps;
  return state.share;
}

void OutlierEjection::change(std::uint32_t index, const State& state) noexcept {
  ++changes_;
  State& current = states_[index];
  ejected_ -= static_cast<std::size_t>(current.phase == Phase::kEjected);
  healthy_ -= static_cast<std::size_t>(is_healthy(current));
  current = state;
  ejected_ += static_cast<std::size_t>(current.phase == Phase::kEjected);
  healthy_ += static_cast<std::size_t>(is_healthy(current));
  within_->set_share(index, share(index));
  weigh_panic();
}

void OutlierEjection::weigh_panic() noexcept {
  const double part = states_.empty() ? 1 : static_cast<double>(healthy_) / static_cast<double>(size());
  const bool panics = part < (panics_ ? std::min(1.0, options_.panic_share + 0.1) : options_.panic_share);
  if (panics == panics_) return;
  panics_ = panics;
  for (std::uint32_t index = 0; index < size(); ++index) within_->set_share(index, share(index));
}

std::size_t OutlierEjection::ejected_max() const noexcept {
  const auto most = static_cast<std::size_t>(options_.ejected_share_max * static_cast<double>(size()));
  return size() < 2 ? 0 : std::max<std::size_t>(most, options_.ejected_share_max > 0 ? 1 : 0);
}

void OutlierEjection::set_share(std::uint32_t index, double share) noexcept {
  WEFT_ASSERT(index < size(), "an endpoint is of the list");
  State state = states_[index];
  state.share = std::clamp(share, 0.0, 1.0);
  change(index, state);
}

void OutlierEjection::eject(std::uint32_t index, TimePoint now) noexcept {
  State state = states_[index];
  if (state.phase == Phase::kTaken && state.ejections > 0) {
    const auto served = static_cast<std::uint64_t>((now - state.since) / options_.ejection_max);
    state.ejections -= static_cast<std::uint8_t>(std::min<std::uint64_t>(served, state.ejections));
  }
  Duration time = options_.ejection_min;
  for (int doubled = 0; doubled < state.ejections && time < options_.ejection_max; ++doubled) {
    time = time > options_.ejection_max / 2 ? options_.ejection_max : time * 2;
  }
  state.ejections = static_cast<std::uint8_t>(std::min(state.ejections + 1, 63));
  state.phase = Phase::kEjected;
  records_.forget(index);
  due_.set(index, now + time);
  change(index, state);
}

void OutlierEjection::advance(TimePoint now) noexcept {
  while (!due_.empty() && due_.top_key() <= now) {
    const std::uint32_t index = due_.top();
    State state = states_[index];
    state.step = state.phase == Phase::kEjected ? 1 : static_cast<std::uint8_t>(state.step + 1);
    state.phase = Phase::kReturning;
    if (state.step >= kSteps) {
      state.phase = Phase::kTaken;
      state.since = now;
      due_.remove(index);
    } else {
      due_.set(index, now + options_.slow_start / (kSteps - 1));
    }
    change(index, state);
  }
}

std::optional<std::uint32_t> OutlierEjection::pick(const PickRequest& request) noexcept {
  advance(request.now);
  return within_->pick(request);
}

void OutlierEjection::ended(std::uint32_t index, const CallReport& report) noexcept {
  within_->ended(index, report);
  if (states_[index].phase == Phase::kEjected) return;
  if (records_.note(index, report) && ejected_ < ejected_max()) eject(index, report.now);
}

}  // namespace weft::detail
