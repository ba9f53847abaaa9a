// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft::detail {

/// Memory of one thread that is given back when the thread ends: a constinit thread_local variable.
/// A thread_local variable with a destructor is no replacement: registering that destructor takes memory, and
/// the C library ends the process where there is none.
struct ThreadEnd {
  void (*run)() noexcept;
  ThreadEnd* next = nullptr;
};

/// Calls `end.run` once, on the calling thread, when the thread ends, after the destructors of its
/// thread_local variables. Does not run for the main thread on exit(). Returns false when the system has no
/// memory or no key for it: `end` is unchanged, and the call may be repeated.
[[nodiscard]] bool run_at_thread_end(ThreadEnd& end) noexcept;

}  // namespace weft::detail
