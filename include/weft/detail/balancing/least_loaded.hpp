// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/listed_policy.hpp"

namespace weft {

struct LeastLoadedOptions {
  /// Decay time of an observed latency: after it, the latency counts a third. Above zero. A slow server is
  /// tried again after a few decay times.
  Duration decay = std::chrono::seconds{10};
  /// Minimum latency that a failed call counts as, so that a server that fails at once does not look fast;
  /// also the assumed latency of calls on a server without observations.
  Duration failure_latency = std::chrono::seconds{1};
  /// Time in which the penalty of a failure falls linearly to zero; above zero. Afterwards the failure is
  /// forgotten, regardless of the latency of other endpoints.
  Duration failure_decay = std::chrono::seconds{10};
};

/// Picks two endpoints at random and takes the one with less work: its latency times its calls in flight,
/// including this one, divided by its weight. A latency estimate rises at once to an observation and falls
/// slowly, so that a server that becomes slow is left at once. A failure counts as a latency too, separately
/// from those of successful calls, and is forgotten after a fixed time. Looking at two endpoints instead of
/// all keeps clients from choosing the same server together, and is nearly as good. An endpoint that had a
/// share of zero counts as unknown again.
///
/// Sources: Mitzenmacher: The Power of Two Choices in Randomized Load Balancing, 2001; the latency is the
/// peak EWMA of Finagle. A pick costs O(1); the policy takes some 70 bytes and the key for each endpoint.
class LeastLoaded final : public detail::ListedPolicy {
 public:
  explicit LeastLoaded(LeastLoadedOptions options = {}) noexcept;

  std::optional<std::uint32_t> pick(const PickRequest& request) noexcept override;
  void begun(std::uint32_t index, TimePoint now) noexcept override;
  void ended(std::uint32_t index, const CallReport& report) noexcept override;

  std::uint32_t in_flight(std::uint32_t index) const noexcept { return loads_[index].in_flight; }
  /// Returns the latency of an endpoint as it counts at `now`, that of a failure if it is longer; zero when
  /// none is known.
  Duration latency(std::uint32_t index, TimePoint now) const noexcept;

 private:
  struct Load {
    double nanoseconds = 0;  // at `at`; zero when nothing is known
    TimePoint at{};
    double failure = 0;  // at `failed_at`; zero when there was none
    TimePoint failed_at{};
    std::uint32_t in_flight = 0;
  };

  void list_changed(std::span<const std::uint32_t> before) override;
  void share_changed(std::uint32_t index, std::uint64_t parts_before) noexcept override;
  /// Factor by which an observation made at `at` has decayed at `now`.
  double kept(TimePoint at, TimePoint now) const noexcept;
  /// Nanoseconds that a failure counts as at `now`; zero once it is forgotten.
  double penalty(const Load& load, TimePoint now) const noexcept;
  /// The larger of both estimates, decayed to `now`; zero without observations.
  double counted(const Load& load, TimePoint now) const noexcept;
  double cost(std::uint32_t index, TimePoint now) const noexcept;

  LeastLoadedOptions options_;
  std::vector<Load> loads_;
};

}  // namespace weft
