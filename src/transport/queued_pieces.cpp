// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/queued_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

namespace weft::detail {

void QueuedPiece::copy_runs(std::byte* to) const noexcept {
  const iovec* run = list();
  for (std::size_t left = size; left > 0; ++run) {
    std::memcpy(to, run->iov_base, run->iov_len);
    to += run->iov_len;
    left -= run->iov_len;
  }
}

std::size_t QueuedPiece::list_runs(std::span<iovec> into) const noexcept {
  const iovec* const runs = list();
  std::size_t count = 0;
  for (std::size_t left = size; left > 0 && count < into.size(); ++count) {
    into[count] = runs[count];
    left -= runs[count].iov_len;
  }
  return count;
}

// The list belongs to this piece alone.
void QueuedPiece::drop_front_of_list(std::size_t bytes) noexcept {
  iovec* run = list();
  for (; bytes > 0; ++run) {
    const std::size_t part = std::min(bytes, run->iov_len);
    bytes -= part;
    if (part == run->iov_len) continue;
    *run = {static_cast<std::byte*>(run->iov_base) + part, run->iov_len - part};
    break;
  }
  data = reinterpret_cast<const std::byte*>(run);
}

std::uint32_t QueuedPieces::first_with_bytes() const noexcept {
  std::uint32_t index = 0;
  while (index < size_ && (*this)[index].size == 0) ++index;
  return index;
}

// Pieces of one chunk follow each other, with nothing but leased ones between them, or those of one other
// chunk that was received, or that stands for a result.
std::size_t QueuedPieces::held_bytes(const ChunkRef& open) const noexcept {
  std::size_t bytes = 0;
  const Chunk* last = nullptr;
  const Chunk* other = nullptr;
  const auto count = [&](const ChunkRef& chunk) {
    if (!chunk || chunk.get() == last) return;
    if (chunk.get() != other) bytes += chunk->capacity();
    other = std::exchange(last, chunk.get());
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
