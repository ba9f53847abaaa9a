// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Returns the lower of two rates, where zero means no limit.
constexpr std::uint64_t least_rate(std::uint64_t one, std::uint64_t other) noexcept {
  return one == 0 || other == 0 ? one + other : std::min(one, other);
}

/// Rate that is enforced piece by piece: the next piece is due when the last ones have taken their time. A
/// late piece catches up by a little, so that the rate holds for any timer precision; other unused time is
/// lost.
class Pace {
 public:
  /// The largest rate: a larger number was meant to be negative, or was computed wrongly.
  static constexpr std::uint64_t kRateMax = INT64_MAX;

  Pace() = default;
  /// Makes one of `rate` bytes a second; zero: none.
  explicit Pace(std::uint64_t rate) noexcept : rate_(rate) {}

  bool is_limited() const noexcept { return rate_ != 0; }
  std::uint64_t rate() const noexcept { return rate_; }
  /// Changes the rate; what went before takes the time that it took.
  void change_to(std::uint64_t rate) noexcept { rate_ = rate; }
  /// Returns when the next piece may go, while it is_limited().
  TimePoint due() const noexcept { return due_; }
  /// A piece of `bytes`, at most 4 GiB, goes at `now`.
  void take(std::size_t bytes, TimePoint now) noexcept {
    const auto takes = static_cast<std::int64_t>(std::uint64_t{bytes} * 1'000'000'000 / rate_);
    if (due_ == TimePoint{}) due_ = now;
    due_ = std::max(due_, now - kCatchUp) + std::chrono::nanoseconds{takes};
  }

  /// The least rate at which an attachment of `bytes` that goes in pieces of `piece_bytes` cannot fail for
  /// its rate alone, whose receiver has the same `frame_timeout`: see RpcLimits.
  static std::uint64_t least(std::uint64_t bytes, std::size_t piece_bytes, Duration frame_timeout) noexcept {
    constexpr std::uint64_t kStep = 64 * 1024;
    const std::uint64_t step = std::max(kStep, bytes / 1024) + piece_bytes;
    const auto seconds = std::max(std::chrono::duration<double>{frame_timeout}.count(), 1e-9);
    const double rate = static_cast<double>(step) / seconds + 1;
    return rate < 9e18 ? static_cast<std::uint64_t>(rate) : kRateMax;
  }

 private:
  static constexpr Duration kCatchUp = std::chrono::milliseconds{10};

  std::uint64_t rate_ = 0;
  TimePoint due_{};
};

}  // namespace weft::detail
