// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"

namespace weft {

/// Numbers of calls by their duration, in buckets from 1 us to 100 s with three bounds for each power of ten.
struct LatencyHistogram {
  static constexpr std::size_t kBounds = 25;
  /// Returns the largest duration of each bucket but the last, which has no bound.
  static constexpr std::array<Duration, kBounds> bounds() {
    std::array<Duration, kBounds> all{};
    Duration decade = std::chrono::microseconds{1};
    for (std::size_t i = 0; i < kBounds; ++i) {
      all[i] = decade * (i % 3 == 0 ? 1 : i % 3 == 1 ? 2 : 5);
      if (i % 3 == 2) decade *= 10;
    }
    return all;
  }
  /// Returns the index of the bucket of `duration`.
  static constexpr std::size_t bucket(Duration duration) {
    constexpr auto kAll = bounds();
    return static_cast<std::size_t>(std::lower_bound(kAll.begin(), kAll.end(), duration) - kAll.begin());
  }

  std::array<std::uint64_t, kBounds + 1> counts{};
  Duration sum{};  ///< of all durations

  std::uint64_t total() const { return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}); }
  /// Returns the bound below which `share` (from 0 to 1) of the calls lie: Duration::max() in the last
  /// bucket, zero without calls.
  Duration quantile(double share) const {
    const std::uint64_t all = total();
    if (all == 0) return Duration::zero();
    const double wanted = share * static_cast<double>(all);
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < kBounds; ++i) {
      below += counts[i];
      if (below != 0 && static_cast<double>(below) >= wanted) return bounds()[i];
    }
    return Duration::max();
  }
  LatencyHistogram& operator+=(const LatencyHistogram& other) {
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] += other.counts[i];
    sum += other.sum;
    return *this;
  }
};

static_assert(LatencyHistogram::bounds().back() == std::chrono::seconds{100});

/// Durations of the calls of a method that ended with the same code.
struct CodeLatency {
  StatusCode code = StatusCode::kOk;
  LatencyHistogram histogram{};
};

}  // namespace weft
