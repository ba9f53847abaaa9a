// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/balancing/listed_policy.hpp"

namespace weft {

struct LeastLoadedOptions {
  /// Time after which a latency that was seen counts a third of what it did; above zero. A server that was
  /// slow is tried again after a few of these.
  Duration decay = std::chrono::seconds{10};
  /// Latency that a failed call counts as, if it took less, so that a server which fails at once does not
  /// look fast; also that of the calls which run on a server of which nothing is known yet.
  Duration failure_latency = std::chrono::seconds{1};
  /// Time in which what a failure counts as falls evenly to nothing; above zero. After it, the failure is
  /// forgotten, however fast the others are.
  Duration failure_decay = std::chrono::seconds{10};
};

/// Picks two endpoints at random and takes the one with less work, which is its latency times its calls in
/// flight, this one included, divided by its weight. A latency rises at once to what was seen and falls
/// slowly, so that a server which becomes slow is left at once. A failure counts as a latency too, but beside
/// those of calls that succeeded, and it is forgotten after a fixed time. Looking at two and not at all keeps
/// clients from falling upon one server together, and is nearly as good. An endpoint whose share was zero is
/// as one of which nothing is known.
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
  /// The part that is left at `now` of what was seen at `at`.
  double kept(TimePoint at, TimePoint now) const noexcept;
  /// Nanoseconds that a failure counts as at `now`; zero once it is forgotten.
  double penalty(const Load& load, TimePoint now) const noexcept;
  /// The longer of both, of what is left at `now`; zero when nothing is known.
  double counted(const Load& load, TimePoint now) const noexcept;
  double cost(std::uint32_t index, TimePoint now) const noexcept;

  LeastLoadedOptions options_;
  std::vector<Load> loads_;
};

}  // namespace weft
