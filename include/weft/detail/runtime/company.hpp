// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Knows whether a loop has recently had work that waits behind long transfers: a frame that belongs to no
/// transfer, or a report of a descriptor without frames. Connections that only move transfers do not delay
/// each other: they take turns. Thread: its loop's.
class Company {
 public:
  /// Time for which recent work counts. A caller that calls repeatedly returns within it, even when each of
  /// its calls waits for a turn of many transfers on both sides, which takes a few milliseconds.
  static constexpr Duration kStays = std::chrono::milliseconds{10};

  void came(TimePoint now) noexcept { until_ = now + kStays; }
  /// Returns the time at which the company is forgotten, unless other traffic arrives before.
  TimePoint until() const noexcept { return until_; }
  bool is_there(TimePoint now) const noexcept { return now < until_; }

 private:
  TimePoint until_ = TimePoint::min();
};

}  // namespace weft::detail
