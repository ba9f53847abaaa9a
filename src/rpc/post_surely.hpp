// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <new>
#include <thread>

#include "weft/runtime/loop.hpp"

namespace weft {

inline constexpr std::chrono::milliseconds kTryAgain{1};

/// Posts `work` to another thread's loop, however long the system has no memory for it: for what must not get
/// lost and whose failure nobody could be told.
template <typename Work>
void post_surely(Loop& loop, const Work& work) noexcept {
  for (;;) {
    try {
      return loop.post(work);
    } catch (const std::bad_alloc&) {
      std::this_thread::sleep_for(kTryAgain);  // allow(no_sleep): memory comes back without an event
    }
  }
}

}  // namespace weft
