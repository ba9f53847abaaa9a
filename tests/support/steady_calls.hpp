// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>

namespace weft::testing {

/// Returns by how much some counters grew in the time in which `kCounted` calls ended, after `kWarmUp` others
/// and before `kAfter` more: so callers that are just beginning or ending are not in it.
template <std::size_t (*... Counters)() noexcept>
class SteadyCalls {
 public:
  static constexpr std::size_t kWarmUp = 5000;
  static constexpr std::size_t kCounted = 10'000;
  static constexpr std::size_t kAfter = 2000;

  bool more() const { return ended_ < kWarmUp + kCounted + kAfter; }
  void end_one(bool good) {
    failed_ += good ? 0 : 1;
    if (++ended_ == kWarmUp) {
      before_ = {Counters()...};
    } else if (ended_ == kWarmUp + kCounted) {
      after_ = {Counters()...};
    }
  }

  std::size_t failed() const { return failed_; }
  /// Growth of the counter that is named `i`-th.
  std::size_t growth(std::size_t i) const { return after_[i] - before_[i]; }

 private:
  std::size_t ended_ = 0;
  std::size_t failed_ = 0;
  std::array<std::size_t, sizeof...(Counters)> before_{};
  std::array<std::size_t, sizeof...(Counters)> after_{};
};

}  // namespace weft::testing
