// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/receive_room.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "weft/detail/transport/early_sends.hpp"

namespace weft::detail {

// Arrived bytes may take this multiple of their size from the system.
std::size_t ReceiveRoom::due_to(std::size_t there) const noexcept {
  return std::max(chunks_.chunk_bytes(), ChunkPool::kRoomyBy * there);
}

void ReceiveRoom::expect_much() noexcept {
  wished_ = std::max(wished_, saturated(chunks_.roomy_bytes()));
}

void ReceiveRoom::expect_less() noexcept {
  wished_ = std::min(wished_, saturated(chunks_.roomy_bytes()));
}

void ReceiveRoom::expect(std::size_t bytes) noexcept {
  wished_ = saturated(bytes);
}

ChunkRef ReceiveRoom::take_wished(std::size_t begin, std::size_t there) noexcept {
  if (ChunkRef kept = chunks_.acquire_kept(begin + wished_, there)) return kept;
  return wished_ <= chunks_.roomy_bytes() ? chunks_.acquire(chunks_.roomy_bytes()) : ChunkRef{};
}

ChunkRef ReceiveRoom::take_large(std::size_t begin, std::size_t needed, std::size_t there) noexcept {
  const std::size_t due = due_to(there);
  if (needed > due) {
    if (ChunkRef kept = chunks_.acquire_kept(begin + needed, there)) return kept;
  }
  // One that is just too small would have to be moved once more, whole.
  const bool is_nearly_due = is_large(there) && needed <= due + due / 4;
  const std::size_t wanted = is_nearly_due ? needed : std::min(needed, due);
  return chunks_.acquire(begin + std::max(wanted, there + 1));
}

ChunkRef ReceiveRoom::take_smaller(std::size_t begin, std::size_t needed, std::size_t there, Chunk& chunk,
                                   bool may_count) noexcept {
  const std::size_t due = due_to(there);
  if (chunk.capacity() <= due) return {};
  const bool is_sole = chunk.references() == 1;
  if (!is_sole || is_large(std::max(needed, begin + there))) {
    // A chunk no larger than justified by the arrived bytes is not counted.
    if (chunk.is_lent() || chunk.capacity() <= LargeChunks::rounded(begin + due + due / 4)) return {};
    const std::size_t most = std::max(chunks_.roomy_bytes(), begin + std::max(needed, there + 1));
    const bool can_be_filled = chunk.capacity() <= LargeChunks::rounded(most);
    if (is_sole && may_count && can_be_filled && chunks_.count_unfilled(chunk, there)) return {};
  }
  return chunks_.acquire(begin + std::max(std::min(needed, due), there + 1));
}

void ReceiveRoom::fit(Bytes& body, ChunkRef& chunk) noexcept {
  if (chunk->is_lent() || chunk->capacity() <= due_to(body.size())) return;
  ChunkRef smaller = take(body.size());
  if (!smaller) return;
  if (!body.empty()) std::memcpy(smaller->data(), body.data(), body.size());
  body = {smaller->data(), body.size()};
  chunk = std::move(smaller);
}

}  // namespace weft::detail
