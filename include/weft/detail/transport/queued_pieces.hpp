// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "weft/detail/memory/chunk_pool.hpp"

namespace weft::detail {

class SendLease;

/// Piece of the send queue: a part of a chunk, which it keeps, or leased memory. Gathered leased memory
/// consists of several runs, listed in a chunk that the piece keeps.
struct QueuedPiece {
  /// Its bytes; of gathered memory, its list.
  const std::byte* data = nullptr;
  std::size_t size = 0;
  SendLease* lease = nullptr;
  ChunkRef chunk{};

  bool is_gathered() const noexcept { return lease != nullptr && chunk; }
  /// Copies gathered memory.
  void copy_runs(std::byte* to) const noexcept;
  /// Its first `bytes` are not to be sent any more.
  void drop_front(std::size_t bytes) noexcept {
    size -= bytes;
    if (is_gathered()) [[unlikely]] {
      drop_front_of_list(bytes);
    } else {
      data += bytes;
    }
  }
  /// Fills `into` with the runs of gathered memory; returns how many of them there is room for.
  [[gnu::noinline]] std::size_t list_runs(std::span<iovec> into) const noexcept;

 private:
  [[gnu::noinline]] void drop_front_of_list(std::size_t bytes) noexcept;
  iovec* list() const noexcept { return reinterpret_cast<iovec*>(const_cast<std::byte*>(data)); }
};

/// Queue of pieces, first in first out, in a ring that is part of the object until more have to be kept.
/// Thread: the loop of the chunks.
class QueuedPieces {
 public:
  QueuedPieces() = default;
  ~QueuedPieces() { use_inline(); }
  QueuedPieces(const QueuedPieces&) = delete;
  QueuedPieces& operator=(const QueuedPieces&) = delete;

  std::uint32_t size() const noexcept { return size_; }
  QueuedPiece& operator[](std::size_t index) const noexcept {
    return ring_[(first_ + index) & (capacity_ - 1)];
  }
  /// Returns the index of the first piece that has bytes; size() when there is none.
  std::uint32_t first_with_bytes() const noexcept;
  /// Capacity of the chunks that the pieces keep, and of `open`, which the last ones may be in as well.
  std::size_t held_bytes(const ChunkRef& open) const noexcept;

  /// Makes room for `more`. False when memory is exhausted.
  bool reserve(std::size_t more) noexcept {
    while (size_ + more > capacity_) {
      if (!grow()) return false;
    }
    return true;
  }
  /// There is room for it, by reserve().
  void push(QueuedPiece piece) noexcept { (*this)[size_++] = std::move(piece); }
  QueuedPiece pop() noexcept;
  /// Gives memory back that a short queue does not need. The queue is empty.
  void trim() noexcept {
    if (capacity_ > kKept) use_inline();
  }

 private:
  static constexpr std::size_t kInline = 4;
  static constexpr std::size_t kKept = 32;

  [[gnu::cold]] bool grow() noexcept;
  void use_inline() noexcept;

  QueuedPiece* ring_ = inline_ring_;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = kInline;  // a power of two
  QueuedPiece inline_ring_[kInline];
};

}  // namespace weft::detail
