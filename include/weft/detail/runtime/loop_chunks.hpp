// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "weft/detail/base/time.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// The chunks of a loop. Unused large chunks return to the system after one to two periods, by a timer that
/// is armed only while some are kept. Thread: the loop's.
class LoopChunks final : private ChunkKeeper, private Timer, public ChunkPool {
 public:
  static constexpr Duration kPeriod = std::chrono::seconds{1};

  LoopChunks(Loop& loop, const ChunkPoolOptions& options) noexcept;

  /// The timer is armed.
  bool are_timed() const noexcept { return armed(); }

 private:
  void on_large_kept() noexcept override;
  void on_timer() override;

  Loop& loop_;
};

}  // namespace weft::detail
