// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// The part of a turn in which one connection may process input from its peer, before other connections run.
/// Where the clock stands still, as in a simulation, a number of clock readings ends it: more than fit into
/// the time.
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
