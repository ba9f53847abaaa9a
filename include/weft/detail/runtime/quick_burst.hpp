// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// Says how far a loop with pollers goes by quick turns before it looks at the clock, descriptors and timers
/// again.
///
/// A burst is measured in units, because reading the clock in each quick turn would cost more than the turn
/// does: an empty one is one unit, and everything that was done in it (a message, a coroutine, a hook) weighs
/// kUnitsPerThing more, about as much longer as it takes. How many units make the time that a burst should
/// last is learnt from the full turns, which read the clock: too long, and the units are halved until it
/// would have been short enough; less than half, and they are doubled.
///
/// States: idle -begin-> begun -end-> ended -measure-> idle; one that is begun again without an end teaches
/// nothing. Thread: its loop's.
class QuickBurst {
 public:
  /// Pollers bring work. A look at the clock and at the descriptors costs about 0.4 us, which is under 1 % of
  /// this; and no timeout that makes sense is so short that the clock may not stand still for so long.
  static constexpr Duration kWhilePollersWork = std::chrono::microseconds{50};
  /// Neither kind, or both kinds, bring work: descriptors wait 5 us on average, pollers lose 4 % of their
  /// turns.
  static constexpr Duration kWhileQuiet = std::chrono::microseconds{10};
  /// Time while only descriptors work: they must hardly notice that there are pollers.
  static constexpr Duration kWhileDescriptorsWork = std::chrono::microseconds{1};
  /// Time for which descriptors that brought something count as working: a few of the longest bursts.
  static constexpr Duration kLately = std::chrono::microseconds{200};

  static constexpr std::int64_t kUnitsPerThing = 8;
  static constexpr std::int64_t kUnitsAtMost = 8192;

  std::int64_t units() const noexcept { return units_; }

  /// `reports`: of descriptors, since the loop was made.
  void begin(TimePoint now, std::uint64_t reports) noexcept {
    if (reports != reports_) last_report_ = now;
    reports_ = reports;
    began_ = now;
    ended_ = false;
    brought_ = false;
  }
  void brought_something() noexcept { brought_ = true; }
  /// It used up its units, or the budget.
  void end() noexcept { ended_ = true; }
  /// Learns, in the full turn after a burst, from how long it took. True when something was done in it.
  bool measure(TimePoint now) noexcept;

 private:
  Duration wanted() const noexcept;

  std::int64_t units_ = 64;
  std::uint64_t reports_ = 0;
  TimePoint began_{};
  TimePoint last_report_{};
  bool ended_ = false;
  bool brought_ = false;
};

}  // namespace weft::detail
