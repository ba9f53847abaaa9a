// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "weft/detail/balancing/indexed_heap.hpp"
#include "weft/detail/balancing/outlier_records.hpp"

namespace weft {

namespace detail {

/// Leaves out endpoints that fail, or are much slower than the others, for a while: a circuit breaker for
/// each endpoint.
///
///   in use ---- outlier, while another one in use looks well ----> ejected <-----------.
///     ^                                                               | its time is over   |
///     |                                                               v                    |
///     |                                                            probed ---- failure ----'
///     |                                                               | success            ^
///     '---- slow_start has passed ---- returning <--------------------'                    |
///                                          '---- outlier ----------------------------------'
///
/// Ejected, an endpoint has no share. Probed, it gets one call at a time, so that an endpoint that is still
/// hung costs one call. Returning, its share grows. Calls that still run on an ejected endpoint are not
/// counted. An ejection takes twice as long as the one before.
///
/// An outlier is clearly worse than another endpoint: while all fail alike, none is ejected. If only
/// few are in use then (`panic_share`), all ejections end. While no endpoint is in use, because the others
/// cannot be reached, ejected endpoints are probed without waiting for their time.
///
/// The share counts together with that of set_share(). Belongs around LocalityFirst and the policies, and
/// within Subset if there is one.
///
/// Source: outlier detection of Envoy, and Nygard: Release It!, 2007, for the breaker. O(log n) beyond the
/// policy within, but for the end of all ejections: O(n log n).
class OutlierEjection final : public BalancingPolicy {
 public:
  OutlierEjection(OutlierOptions options, std::unique_ptr<BalancingPolicy> within);

  Status set_endpoints(std::span<const EndpointSpec> list) override;
  std::size_t size() const noexcept override { return states_.size(); }
  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;
  void set_share(std::uint32_t index, double share) noexcept override;
  void begun(std::uint32_t index, TimePoint now) noexcept override;
  void ended(std::uint32_t index, const CallReport& report) noexcept override;

  bool is_ejected(std::uint32_t index) const noexcept { return states_[index].phase == Phase::kEjected; }
  std::size_t ejected() const noexcept { return counts_.ejected; }
  /// Returns how often a share may have changed.
  std::uint64_t changes() const noexcept { return changes_; }
  /// Returns the share that the policy within sees.
  double share(std::uint32_t index) const noexcept;

 private:
  static constexpr int kSteps = 10;  // of a slow start

  enum class Phase : std::uint8_t { kInUse, kEjected, kProbed, kReturning };
  struct State {
    Phase phase = Phase::kInUse;
    bool has_probe = false;      // kProbed: a call is under way, and no other is let in
    std::uint8_t step = 0;       // kReturning: the share in tenths
    std::uint8_t ejections = 0;  // how often the time of an ejection has doubled, and one
    TimePoint since{};  // kInUse: since it came back, or was counted down; kProbed: begin of the probe
    double share = 1;   // as set_share() says
  };
  /// Numbers of endpoints that set_share() gives a share, but for `ejected`, which counts all.
  struct Counts {
    std::size_t ejected = 0;
    std::size_t ejected_reachable = 0;
    std::size_t in_use = 0;
    std::size_t reachable = 0;
    void add(const State& state, std::size_t number) noexcept;
  };

  /// Ejects an outlier, if it is one compared with the others.
  void judge(std::uint32_t index, TimePoint now) noexcept;
  void end_probe(std::uint32_t index, const CallReport& report) noexcept;
  void eject(std::uint32_t index, TimePoint now) noexcept;
  /// Lets the ejected endpoint whose time is over first be probed now. False without one that can be reached.
  bool probe_early() noexcept;
  void begin_probing(std::uint32_t index) noexcept;
  bool another_looks_well(std::uint32_t index) noexcept;
  void end_all_ejections(TimePoint now) noexcept;
  /// Executes all state changes that are due.
  void advance(TimePoint now) noexcept;
  void change(std::uint32_t index, const State& state) noexcept;
  std::size_t ejected_max() const noexcept;

  const OutlierOptions options_;
  std::unique_ptr<BalancingPolicy> within_;
  EndpointKeys keys_;
  OutlierRecords records_;
  std::vector<State> states_;
  IndexedHeap<TimePoint> due_;
  Counts counts_;
  std::uint64_t changes_ = 0;
  /// Place where the next search for an endpoint that looks well begins.
  std::uint32_t cursor_ = 0;
  /// All ejections may end again then.
  TimePoint may_panic_at_ = TimePoint::min();
};

}  // namespace detail

}  // namespace weft
