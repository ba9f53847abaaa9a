// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/queued_pieces.hpp"

#include <new>

namespace weft::detail {

std::uint32_t QueuedPieces::first_with_bytes() const noexcept {
  std::uint32_t index = 0;
  while (index < size_ && (*this)[index].size == 0) ++index;
  return index;
}

// Pieces of one chunk follow each other, with nothing but leased ones between them.
std::size_t QueuedPieces::held_bytes(const ChunkRef& open) const noexcept {
  std::size_t bytes = 0;
  const Chunk* last = nullptr;
  const auto count = [&](const ChunkRef& chunk) {
    if (!chunk || chunk.get() == last) return;
    last = chunk.get();
    bytes += last->capacity();
  };
  for (std::uint32_t index = 0; index < size_; ++index) count((*this)[index].chunk);
  count(open);
  return bytes;
}

bool QueuedPieces::grow() noexcept {
  auto* larger = new (std::nothrow) QueuedPiece[capacity_ * 2];
  if (larger == nullptr) return false;
  for (std::size_t index = 0; index < size_; ++index) larger[index] = std::move((*this)[index]);
  if (ring_ != inline_ring_) delete[] ring_;
  ring_ = larger;
  first_ = 0;
  capacity_ *= 2;
  return true;
}

QueuedPiece QueuedPieces::pop() noexcept {
  QueuedPiece piece = std::move((*this)[0]);
  first_ = (first_ + 1) & (capacity_ - 1);
  --size_;
  return piece;
}

void QueuedPieces::use_inline() noexcept {
  if (ring_ != inline_ring_) delete[] std::exchange(ring_, inline_ring_);
  first_ = 0;
  capacity_ = kInline;
}

}  // namespace weft::detail
