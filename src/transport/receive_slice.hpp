// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// The part of a turn that one connection gets to take what its peer sent, before others have theirs. Where
/// the clock stands still, as in a simulation, a number of looks at it ends it: more than the time is enough
/// for.
class ReceiveSlice {
 public:
  static constexpr Duration kTime = std::chrono::microseconds{100};
  static constexpr int kLooks = 64;

  explicit ReceiveSlice(TimePoint now) noexcept : began_(now) {}

  /// The clock was looked at.
  void look(TimePoint now) noexcept {
    ++looks_;
    if (now - began_ >= kTime) looks_ = kLooks;
  }
  bool is_over() const noexcept { return looks_ >= kLooks; }

 private:
  const TimePoint began_;
  int looks_ = 0;
};

}  // namespace weft::detail
