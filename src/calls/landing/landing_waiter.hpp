// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "weft/detail/calls/terms/transfer_progress.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// The waiter for an attachment to land, and the user's progress object, if there is one. Both are lent until
/// the end. Thread: the connection's loop.
class LandingWaiter {
 public:
  /// Makes `progress`, which is unused, count the landed part of `bytes` from now on.
  void count_with(TransferProgress& progress, std::uint64_t bytes, Loop& loop) noexcept {
    progress.begin_receiving(bytes, loop);
    progress_ = &progress;
    ended_ = false;
  }
  bool counts() const noexcept { return progress_ != nullptr; }
  /// Counts `bytes` more that are where they belong.
  void landed(std::uint64_t bytes) noexcept {
    if (progress_ != nullptr && !ended_) progress_->count_received(bytes);
  }
  /// `waiter` is scheduled at the end.
  void wait(Ready& waiter) noexcept { waiter_ = &waiter; }
  /// The wait is over, and the progress may count for another.
  void stop_waiting() noexcept {
    waiter_ = nullptr;
    if (progress_ != nullptr) std::exchange(progress_, nullptr)->set_taken(false);
  }
  /// Nothing more lands; stop_waiting() follows. The callbacks of the progress were scheduled before, so they
  /// run first.
  void end(Loop& loop) noexcept {
    ended_ = true;
    if (waiter_ != nullptr) loop.schedule(*std::exchange(waiter_, nullptr));
  }

 private:
  Ready* waiter_ = nullptr;
  TransferProgress* progress_ = nullptr;
  bool ended_ = false;
};

}  // namespace weft::detail
