// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "weft/detail/runtime/clock.hpp"

namespace weft::testing {

/// Passes with the questions for it and not with the time: a turn is never cut because the machine had others
/// to serve, and takes as many chunks in each run.
class CountingClock final : public Clock {
 public:
  explicit CountingClock(Duration each = Duration{1}) : each_(each) {}

  TimePoint now() override { return now_ += each_; }
  bool advances_by_itself() const override { return true; }

 private:
  const Duration each_;
  TimePoint now_{std::chrono::hours{1}};
};

}  // namespace weft::testing
