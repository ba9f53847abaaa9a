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

/// Lets `end.run` be called once, on the calling thread, when the thread ends, behind the destructors of its
/// thread_local variables. exit() calls none of the main thread's.
/// Returns false when the system has no memory or no key for it: `end` is as before, and may be tried again.
[[nodiscard]] bool run_at_thread_end(ThreadEnd& end) noexcept;

}  // namespace weft::detail
