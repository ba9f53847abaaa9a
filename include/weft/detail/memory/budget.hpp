// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <limits>

namespace weft::detail {

/// Bound of the memory that something may hold. Reserved before allocating, released after freeing, so that
/// what a peer announces is refused while it is still a number. Budgets nest: connection inside process, call
/// inside connection; a reservation counts in every budget up to the root.
///
/// Thread: any. The parent must outlive the child; destroying a budget asserts that everything was released.
class MemoryBudget {
 public:
  static constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

  explicit MemoryBudget(std::size_t limit_bytes, MemoryBudget* parent = nullptr) noexcept
      : limit_(limit_bytes), parent_(parent) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;
  ~MemoryBudget();

  /// Takes `bytes` here and in every parent, or nothing anywhere. Never exceeds a limit, not even for a
  /// moment.
  bool try_reserve(std::size_t bytes) noexcept;
  /// Returns `bytes` of a reservation, in any number of parts.
  void release(std::size_t bytes) noexcept;

  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t limit() const noexcept { return limit_; }

 private:
  bool try_take(std::size_t bytes) noexcept;
  void give_back(std::size_t bytes) noexcept;

  const std::size_t limit_;
  MemoryBudget* const parent_;
  std::atomic<std::size_t> used_{0};
};

}  // namespace weft::detail
