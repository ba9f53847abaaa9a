// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <latch>

#include "weft/detail/runtime/loop_thread.hpp"

namespace weft {

/// Runs `work` on the thread of `loop` and waits for it.
template <typename Work>
void do_on(Loop& loop, Work work) {
  std::latch done{1};
  loop.post([&] {
    work();
    done.count_down();
  });
  done.wait();
}

/// Returns when another thread runs `loop`.
inline void begin_turns(Loop& loop) {
  do_on(loop, [] {});
}

}  // namespace weft
