// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

#include "weft/detail/calls/transfer_progress.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// Somebody who waits for an attachment to land, and the user's object that counts what of it has, if there
/// is one. Both are lent until the end. Thread: the connection's loop.
class LandingWaiter {
 public:
  /// `progress`, which is nobody's, counts from now on what lands of `bytes`.
  void count_with(TransferProgress& progress, std::uint64_t bytes, Loop& loop) noexcept {
    progress.begin_receiving(bytes, loop);
    progress_ = &progress;
  }
  bool counts() const noexcept { return progress_ != nullptr; }
  /// Counts `bytes` more that are where they belong.
  void landed(std::uint64_t bytes) noexcept {
    if (progress_ != nullptr) progress_->count_received(bytes);
  }
  /// `waiter` is scheduled at the end.
  void wait(Ready& waiter) noexcept { waiter_ = &waiter; }
  void stop_waiting() noexcept { waiter_ = nullptr; }
  /// Nothing more lands. What `progress` calls back for was scheduled before, so it comes first.
  void end(Loop& loop) noexcept {
    if (progress_ != nullptr) std::exchange(progress_, nullptr)->set_taken(false);
    if (waiter_ != nullptr) loop.schedule(*std::exchange(waiter_, nullptr));
  }

 private:
  Ready* waiter_ = nullptr;
  TransferProgress* progress_ = nullptr;
};

}  // namespace weft::detail
