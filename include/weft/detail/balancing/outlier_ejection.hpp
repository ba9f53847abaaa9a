// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weft/detail/balancing/indexed_heap.hpp"
#include "weft/detail/balancing/outlier_records.hpp"

namespace weft {

namespace detail {

/// Leaves out endpoints that fail, or are much slower than the others, for a while: a circuit breaker for
/// each of them, with a bound on how many are open.
///
///   taken ---- outlier, and not too many are out ----> ejected
///     ^                                                 |  its time is over
///     '------- slow_start has passed ---- returning <---'
///                                             '-------- outlier: ejected again, for twice as long
///
/// Ejected, an endpoint has no share; returning, one that grows; calls that still run on an ejected one say
/// nothing. Its share counts together with that of set_share(). Belongs around LocalityFirst and the
/// policies, and within Subset if there is one.
///
/// Source: outlier detection of Envoy, and Nygard: Release It!, 2007, for the breaker. O(log n) beyond the
/// policy within; a panic that begins or ends costs O(n log n), with a tenth of all endpoints changing
/// between the two.
class OutlierEjection final : public BalancingPolicy {
 public:
  OutlierEjection(OutlierOptions options, std::unique_ptr<BalancingPolicy> within);

  Status set_endpoints(std::span<const EndpointSpec> list) override;
  std::size_t size() const noexcept override { return states_.size(); }
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;
  void set_share(std::uint32_t index, double share) noexcept override;
  void begun(std::uint32_t index, TimePoint now) noexcept override { within_->begun(index, now); }
  void ended(std::uint32_t index, const CallReport& report) noexcept override;

  bool is_ejected(std::uint32_t index) const noexcept { return states_[index].phase == Phase::kEjected; }
  std::size_t ejected() const noexcept { return ejected_; }
  bool panics() const noexcept { return panics_; }
  /// Returns how often a share may have changed.
  std::uint64_t changes() const noexcept { return changes_; }
  /// Returns the share that the policy within sees.
  double share(std::uint32_t index) const noexcept;

 private:
  static constexpr int kSteps = 10;  // of a slow start

  enum class Phase : std::uint8_t { kTaken, kEjected, kReturning };
  struct State {
    Phase phase = Phase::kTaken;
    std::uint8_t step = 0;       // kReturning: the share is so many tenths
    std::uint8_t ejections = 0;  // how often the time of an ejection has doubled, and one
    TimePoint since{};           // kTaken: since it came back, or was counted down
    double share = 1;            // as set_share() says
  };

  bool is_healthy(const State& state) const noexcept {
    return state.phase != Phase::kEjected && state.share > 0;
  }
  void eject(std::uint32_t index, TimePoint now) noexcept;
  /// Moves on whatever is due.
  void advance(TimePoint now) noexcept;
  void change(std::uint32_t index, const State& state) noexcept;
  void weigh_panic() noexcept;
  std::size_t ejected_max() const noexcept;

  const OutlierOptions options_;
  std::unique_ptr<BalancingPolicy> within_;
  EndpointKeys keys_;
  OutlierRecords records_;
  std::vector<State> states_;
  IndexedHeap<TimePoint> due_;
  std::size_t ejected_ = 0;
  std::size_t healthy_ = 0;
  std::uint64_t changes_ = 0;
  bool panics_ = false;
};

}  // namespace detail

}  // namespace weft
