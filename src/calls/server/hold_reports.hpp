// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "calls/gate/method_table.hpp"
#include "calls/terms/method_counters.hpp"
#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/log.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/held_loop.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// Counts how often a loop of a server was held up, and writes which method may have done it: at most one
/// line per second. The line is written in a later step of the loop, because a logger may do anything.
/// Thread: the loop's.
class HoldReports final : private HeldLoopWatch, private Ready, private Timer {
 public:
  static constexpr Duration kInterval = std::chrono::seconds{1};

  /// All of these outlive it.
  HoldReports(Loop& loop, Logger& logger, const MethodTable& methods, const MethodCounts& counts) noexcept;

  /// Begins to watch the loop, once.
  void watch(Duration from) noexcept {
    if (!HeldLoopWatch::linked()) loop_.turn_time().watch_holds(*this, from);
  }
  /// Thread: any.
  std::uint64_t count() const noexcept { return count_.get(); }
  /// Says what may hold the loop up now, for a line of a log. Thread: any. Throws std::bad_alloc.
  std::string suspects_now() const { return words(suspects(loop_.turn_time().begun_last()), false); }

 private:
  struct Suspects {
    /// Method of the work that began last; null: no handler began.
    const MethodEntry* begun = nullptr;
    /// Methods with coroutines that have not ended, the first few.
    std::array<const MethodEntry*, 4> coroutines{};
    std::size_t coroutine_methods = 0;
  };

  void on_held(const HeldLoop& held) noexcept override;
  static void run(Ready* node) noexcept { static_cast<HoldReports*>(node)->report(); }
  void on_timer() override { report(); }
  void report() noexcept;
  Suspects suspects(const void* begun_last) const noexcept;
  static std::string words(const Suspects& suspects, bool by_one);

  Loop& loop_;
  Logger& logger_;
  const MethodTable& methods_;
  const MethodCounts& counts_;
  Counter count_;
  /// Longest hold since the last line, and the number of the others.
  Duration longest_{};
  Suspects suspects_;
  bool by_one_ = false;
  std::uint64_t left_out_ = 0;
  TimePoint written_ = TimePoint::min();
};

}  // namespace weft::detail
