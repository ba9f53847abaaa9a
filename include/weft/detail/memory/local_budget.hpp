// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <utility>

#include "weft/detail/memory/budget.hpp"

namespace weft::detail {

/// A thread's part of a budget that threads share. It reserves from the shared budget in steps, so that most
/// small reservations touch no memory of another thread; up to two unused steps stay with it. Thread: one.
class LocalBudget {
 public:
  explicit LocalBudget(std::shared_ptr<MemoryBudget> shared)
      : shared_(std::move(shared)), step_(std::min(kStepMax, shared_->limit() / 256)) {}
  LocalBudget(const LocalBudget&) = delete;
  LocalBudget& operator=(const LocalBudget&) = delete;
  /// Everything that was reserved has been released.
  ~LocalBudget() { shared_->release(free_); }

  /// Takes `bytes`, or nothing. Fails only when the shared budget has not as much.
  bool try_reserve(std::size_t bytes) noexcept {
    if (bytes > free_ && !take(bytes)) return false;
    free_ -= bytes;
    return true;
  }
  void release(std::size_t bytes) noexcept {
    free_ += bytes;
    if (free_ > 2 * step_) give_back();
  }

  /// Number of unreserved bytes, here and in the shared budget.
  std::size_t free() const noexcept { return free_ + shared_->limit() - shared_->used(); }
  const std::shared_ptr<MemoryBudget>& shared() const noexcept { return shared_; }

 private:
  static constexpr std::size_t kStepMax = 256 * 1024;

  bool take(std::size_t bytes) noexcept;
  void give_back() noexcept;

  const std::shared_ptr<MemoryBudget> shared_;
  const std::size_t step_;
  std::size_t free_ = 0;
};

}  // namespace weft::detail
