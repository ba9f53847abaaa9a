// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/clock.hpp"

namespace weft {

namespace {

class SteadyClock final : public Clock {
 public:
  TimePoint now() override { return std::chrono::steady_clock::now(); }
  bool advances_by_itself() const override { return true; }
};

}  // namespace

namespace detail {

Clock& steady_clock_source() {
  // It has no state, so a shared instance is not a global.
  static SteadyClock clock;
  return clock;
}

}  // namespace detail

}  // namespace weft
