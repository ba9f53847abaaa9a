// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "weft/runtime/loop.hpp"

namespace weft::protobuf::detail {

/// Runs `work` on `loop`: at once in its own turn, else soon.
template <typename Work>
void run_on(Loop& loop, Work work) {
  if (Loop::current() == &loop) return work();
  loop.post(std::move(work));
}

}  // namespace weft::protobuf::detail
