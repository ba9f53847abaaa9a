// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/thread_signal.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <ctime>

namespace weft::detail {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
              "the kernel looks at the word itself");

bool ThreadSignal::wait(Deadline deadline) noexcept {
  std::uint32_t unset = kUnset;
  word_.compare_exchange_strong(unset, kSlept, std::memory_order_acq_rel, std::memory_order_acquire);
  while (!raised()) {
    // An absolute time of CLOCK_MONOTONIC, which steady_clock is on Linux.
    const auto at = deadline.at().time_since_epoch();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(at);
    const timespec until{.tv_sec = seconds.count(), .tv_nsec = (at - seconds).count()};
    if (!deadline.is_infinite() && deadline.expired(std::chrono::steady_clock::now())) return false;
    ::syscall(SYS_futex, &word_, FUTEX_WAIT_BITSET_PRIVATE, kSlept, deadline.is_infinite() ? nullptr : &until,
              nullptr, FUTEX_BITSET_MATCH_ANY);
  }
  return true;
}

void ThreadSignal::wake() noexcept {
  ::syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace weft::detail
