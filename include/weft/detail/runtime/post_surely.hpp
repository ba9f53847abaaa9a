// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <new>
#include <thread>

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

/// Posts `work` to another thread's loop, and retries for as long as the system has no memory for it: for
/// work that must not be lost and has no caller to report a failure to.
template <typename Work>
void post_surely(Loop& loop, const Work& work) noexcept {
  for (;;) {
    try {
      return loop.post(work);
    } catch (const std::bad_alloc&) {
      // Memory comes back without an event.
      std::this_thread::sleep_for(std::chrono::milliseconds{1});  // allow(no_sleep): see above
    }
  }
}

}  // namespace weft::detail
