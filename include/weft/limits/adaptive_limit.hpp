// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/base/time.hpp"
#include "weft/detail/limits/limit_controller.hpp"
#include "weft/limits/adaptive_limit_options.hpp"

namespace weft {

/// Concurrency limit that finds by itself how many calls a server works on best: where latency rises above
/// that without load, calls are waiting for each other, and more of them only wait longer. Whoever is refused
/// by it learns so at once, while the server does what it can: under ten times the load it can bear, it
/// answers as much as at its best.
///
/// After each window the limit becomes limit * gradient + sqrt(limit), where the gradient is
/// tolerance * (latency without load) / (mean latency of the window), from 0.5 to 1; the root is the queue
/// that may stand, and what the limit grows by. It grows only while it is used. The latency without load is
/// the mean in a probe: for a few calls the limit is low. A window with a lower mean lowers it at once.
///
/// Source: Vegas (Brakmo, Peterson: TCP Vegas, 1995) compares with the least latency; the gradient and the
/// root are those of Netflix's concurrency-limits, the probe that of Envoy's adaptive concurrency filter.
/// Takes no memory. Thread: one at a time.
class AdaptiveLimit {
 public:
  AdaptiveLimit(AdaptiveLimitOptions options, TimePoint now) noexcept;

  /// Begins a call, or refuses it. Each that begins ends by ended() or by dropped().
  bool try_begin(TimePoint now) noexcept;
  /// A call ends that took `latency`, whether it succeeded or ran out of its time.
  void ended(TimePoint now, Duration latency) noexcept;
  /// A call ends whose time says nothing, such as one that was refused for its arguments.
  void dropped() noexcept;

  /// Never below 1. While a probe runs it is the probe's.
  std::uint32_t limit() const noexcept { return controller_.limit(); }
  std::uint32_t in_flight() const noexcept { return in_flight_; }
  /// Returns the latency without load as measured last; zero before the first probe has ended. Whoever is
  /// refused may well be told to wait for so long.
  Duration latency_without_load() const noexcept { return controller_.latency_without_load(); }

 private:
  detail::LimitController controller_;
  std::uint32_t in_flight_ = 0;
};

}  // namespace weft
