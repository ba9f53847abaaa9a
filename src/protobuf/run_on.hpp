// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/post_surely.hpp"

namespace weft::protobuf::detail {

/// Runs `work` on `loop`: at once in a turn of that loop, otherwise soon. Used for answers and cancels, which
/// must not be lost.
template <typename Work>
void run_on(Loop& loop, const Work& work) {
  if (Loop::current() == &loop) return work();
  weft::detail::post_surely(loop, work);
}

}  // namespace weft::protobuf::detail
