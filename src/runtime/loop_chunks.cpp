// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/loop_chunks.hpp"

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

LoopChunks::LoopChunks(Loop& loop, const ChunkPoolOptions& options) noexcept
    : ChunkPool(options, this), loop_(loop) {}

void LoopChunks::on_large_kept() noexcept {
  if (!armed()) loop_.arm(*this, Deadline::after(loop_.now(), kPeriod).at());
}

void LoopChunks::on_timer() {
  if (release_unused()) on_large_kept();
}

}  // namespace weft::detail
