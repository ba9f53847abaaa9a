// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/large_chunks.hpp"

#include <algorithm>

#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail {

// Of a power of two the sizes are 5, 6, 7 and 8 quarters of it.
LargeChunks::Size& LargeChunks::size_of(std::size_t bytes) noexcept {
  const std::size_t power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1 - kFirstPower;
  return sizes_[power * 4 + rounded(bytes) / step_of(bytes) - 5];
}

Chunk* LargeChunks::take(std::size_t bytes) noexcept {
  return pop(size_of(bytes));
}

bool LargeChunks::put(Chunk* chunk) noexcept {
  if (bytes_ + chunk->capacity() > bytes_max_) return false;
  Size& size = size_of(chunk->capacity());
  chunk->next_free_ = size.first;
  size.first = chunk;
  ++size.kept;
  bytes_ += chunk->capacity();
  return true;
}

Chunk* LargeChunks::pop(Size& size) noexcept {
  Chunk* const chunk = size.first;
  if (chunk == nullptr) return nullptr;
  size.first = chunk->next_free_;
  --size.kept;
  size.unused = std::min(size.unused, size.kept);
  bytes_ -= chunk->capacity();
  return chunk;
}

Chunk* LargeChunks::take_unused() noexcept {
  const auto found = std::ranges::find_if(sizes_, [](const Size& size) { return size.unused > 0; });
  if (found == sizes_.end()) return nullptr;
  const std::uint32_t left = found->unused - 1;
  Chunk* const chunk = pop(*found);
  found->unused = left;
  return chunk;
}

void LargeChunks::next_period() noexcept {
  for (Size& size : sizes_) size.unused = size.kept;
}

Chunk* LargeChunks::take_any() noexcept {
  const auto found = std::ranges::find_if(sizes_, [](const Size& size) { return size.kept > 0; });
  return found != sizes_.end() ? pop(*found) : nullptr;
}

}  // namespace weft::detail
