// SPDX-License-Identifier: Apache-2.0
#include "calls/session/requests_put_off.hpp"

#include <algorithm>
#include <new>

namespace weft::detail {

// A chunk of small frames is not charged, as it is not while it is received into.
std::unique_ptr<RequestsPutOff> RequestsPutOff::make(std::span<const Frame> frames, const ChunkRef& chunk,
                                                     const ChunkPool& chunks, LocalBudget& memory,
                                                     TimePoint since) noexcept {
  const bool is_large =
      chunk->capacity() > chunks.roomy_bytes() || std::ranges::any_of(frames, [&](const Frame& frame) {
        return frame.body.size() > chunks.chunk_bytes();
      });
  const std::size_t charge = is_large ? chunk->capacity() : 0;
  if (!memory.try_reserve(charge)) return nullptr;
  KeptBody kept{memory, charge};
  try {
    std::vector<Frame> copied{frames.begin(), frames.end()};
    return std::unique_ptr<RequestsPutOff>{
        new RequestsPutOff{std::move(copied), chunk, std::move(kept), since}};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

}  // namespace weft::detail
