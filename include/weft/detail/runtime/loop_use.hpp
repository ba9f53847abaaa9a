// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// Facts about a loop that keep others from using it wrongly: the thread that runs it, and how many objects
/// must end before it does. Thread: any.
class LoopUse {
 public:
  /// The thread that runs the loop now is this one, or there is none.
  bool is_run_here_or_nowhere() const noexcept {
    const void* thread = run_by_.load(std::memory_order_relaxed);
    return thread == nullptr || thread == this_thread();
  }
  /// The thread that runs the loop now is this one.
  bool is_run_here() const noexcept { return run_by_.load(std::memory_order_relaxed) == this_thread(); }
  /// Sets the thread that runs the loop, null for none. Returns the previous one.
  const void* set_run_by(const void* thread) noexcept {
    const void* before = run_by_.load(std::memory_order_relaxed);
    run_by_.store(thread, std::memory_order_relaxed);
    return before;
  }
  /// Returns an address that no other living thread has; it is asked in each drive of a loop.
  static const void* this_thread() noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
    return __builtin_thread_pointer();
#else
    return &thread_mark_;
#endif
  }

  /// Counts objects that must end before the loop does.
  void add_resident() noexcept { residents_.fetch_add(1, std::memory_order_relaxed); }
  void remove_resident() noexcept { residents_.fetch_sub(1, std::memory_order_relaxed); }
  bool has_residents() const noexcept { return residents_.load(std::memory_order_relaxed) != 0; }

 private:
#if !defined(__x86_64__) && !defined(__aarch64__)
  static inline constinit thread_local char thread_mark_ = 0;
#endif

  std::atomic<const void*> run_by_{nullptr};
  std::atomic<std::uint32_t> residents_{0};
};

}  // namespace weft::detail
