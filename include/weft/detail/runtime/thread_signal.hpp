// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft::detail {

/// An event that occurs once, and one thread that blocks until it has. Raising it makes a system call only if
/// that thread sleeps.
class ThreadSignal {
 public:
  bool raised() const noexcept { return word_.load(std::memory_order_acquire) == kRaised; }
  /// Publishes earlier writes to the thread that finds it raised. The object must stay until this returns, so
  /// its owners count each other. Thread: any.
  void raise() noexcept {
    if (word_.exchange(kRaised, std::memory_order_acq_rel) == kSlept) wake();
  }
  /// Blocks until it is raised, or until `deadline` by the monotonic clock. False when time was over first.
  bool wait(Deadline deadline) noexcept;

 private:
  static constexpr std::uint32_t kUnset = 0;
  static constexpr std::uint32_t kSlept = 1;
  static constexpr std::uint32_t kRaised = 2;

  void wake() noexcept;

  std::atomic<std::uint32_t> word_{kUnset};
};

}  // namespace weft::detail
