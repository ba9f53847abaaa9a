// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/memory/counted_memory.hpp"

namespace weft::ucx {

/// The owner of some bytes that UCX may be given. Derive from it to put the count into an object of yours
/// that owns bytes; Memory's own makers do so. Never released inside a callback of UCX.
using MemoryBlock = weft::detail::CountedBlock<ucp_mem_h>;

/// A handle to bytes that keeps them alive: used by every operation instead of a span, because UCX uses the
/// bytes until completion, even if the coroutine ends before.
class Memory final : public weft::detail::CountedMemory<Memory, ucp_mem_h> {
 public:
  /// `size` bytes from the heap, not zeroed. Throws std::bad_alloc. For many of a size use a MemoryPool.
  static Memory allocate(std::size_t size);
  /// A copy of `bytes`, from the heap.
  static Memory copy_of(Bytes bytes);
  /// Takes `buffer` over.
  static Memory adopt(Buffer buffer);
  /// Keeps `chunk` for as long as there are handles; [offset, offset + size) must lie in it.
  static Memory adopt(weft::detail::ChunkRef chunk, std::size_t offset, std::size_t size);
  /// `bytes` without an owner: the caller keeps them until the operation has completed, which is later than
  /// its cancellation. A coroutine that is cancelled in such an operation waits for UCX; one that is dropped
  /// ends the process with a message. See docs/pitfalls/ucx.md, "Borrowed memory".
  static Memory unsafe_borrow(Bytes bytes) noexcept {
    return Memory{const_cast<std::byte*>(bytes.data()), bytes.size(), nullptr};
  }

  Memory() noexcept = default;
  /// Bytes that `block` owns.
  Memory(MemoryBlock& block, MutableBytes bytes) noexcept : Memory(bytes.data(), bytes.size(), &block) {}

 private:
  friend CountedMemory;
  Memory(std::byte* data, std::size_t size, MemoryBlock* block) noexcept : CountedMemory(data, size, block) {}
};

/// Makes Memory of one size and keeps returned blocks for reuse. Must outlive its memory. Thread: one loop's.
class MemoryPool {
 public:
  /// Blocks of `block_bytes`, 64-aligned; at most `cached_max` free ones are kept.
  explicit MemoryPool(std::size_t block_bytes, std::size_t cached_max = 64) noexcept;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  /// `size` bytes, not zeroed; more than a block's comes from the heap and goes back there. Empty when memory
  /// is exhausted and `size` is not zero.
  Memory allocate(std::size_t size) noexcept;
  Memory allocate() noexcept { return allocate(block_bytes_); }

  std::size_t block_bytes() const noexcept { return block_bytes_; }

 private:
  struct Block;
  static void give_back(MemoryBlock& block) noexcept;
  Block* make(std::size_t size) noexcept;
  static void destroy(Block* block) noexcept;

  const std::size_t block_bytes_;
  const std::size_t cached_max_;
  Block* free_ = nullptr;
  std::size_t cached_ = 0;
  std::size_t out_ = 0;
};

}  // namespace weft::ucx
