// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Mean duration of overlapping operations, computed from their number alone: time that passes while n
/// operations are under way counts n times, and is divided among the operations that end. The estimate covers
/// the last few dozen operations. Threads share one without a lock; a concurrent update may lose a small
/// part, which does not matter for an estimate. Allocates nothing.
class ServiceTime {
 public:
  /// Records that `under_way` operations ran until now, and that their number is about to grow.
  void begins(TimePoint now, std::size_t under_way) noexcept { pass(now, under_way); }
  /// Tells the same, and that one of them ends.
  void ends(TimePoint now, std::size_t under_way) noexcept {
    pass(now, under_way);
    const std::uint32_t ended = ended_.fetch_add(1, std::memory_order_relaxed) + 1;
    if (ended < kRemembered) return;
    ended_.store(ended / 2, std::memory_order_relaxed);
    spent_.store(spent_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
  }

  /// Returns how long a refused caller should wait for the ones before it: until `ahead` of them have
  /// finished when `at_once` run at a time. See bounded().
  Duration wait(std::size_t ahead, std::size_t at_once) const noexcept {
    const std::uint32_t ended = ended_.load(std::memory_order_relaxed);
    if (ended == 0) return kUnknown;
    const double mean = static_cast<double>(spent_.load(std::memory_order_relaxed)) / ended;
    const double all =
        mean * static_cast<double>(ahead) / static_cast<double>(std::max<std::size_t>(1, at_once));
    return bounded(Duration{static_cast<Duration::rep>(std::min(all, static_cast<double>(kMost.count())))});
  }
  /// Returns `wait` as a refusal tells it: from a millisecond to a second, since it is a guess, and ten
  /// milliseconds for zero, where nothing is known yet.
  static constexpr Duration bounded(Duration wait) noexcept {
    return wait <= Duration::zero() ? kUnknown : std::clamp(wait, kLeast, kMost);
  }

 private:
  static constexpr Duration kLeast = std::chrono::milliseconds{1};
  static constexpr Duration kUnknown = std::chrono::milliseconds{10};
  static constexpr Duration kMost = std::chrono::seconds{1};
  static constexpr std::uint32_t kRemembered = 64;

  void pass(TimePoint now, std::size_t under_way) noexcept {
    const Duration::rep at = now.time_since_epoch().count();
    const Duration::rep before = since_.exchange(at, std::memory_order_relaxed);
    if (under_way == 0 || at <= before) return;
    spent_.fetch_add((at - before) * static_cast<Duration::rep>(under_way), std::memory_order_relaxed);
  }

  std::atomic<Duration::rep> since_{0};
  std::atomic<Duration::rep> spent_{0};
  std::atomic<std::uint32_t> ended_{0};
};

}  // namespace weft::detail
