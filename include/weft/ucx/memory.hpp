// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/base/assert.hpp"
#include "weft/base/bytes.hpp"
#include "weft/memory/buffer.hpp"
#include "weft/memory/chunk_pool.hpp"

namespace weft::ucx {

/// The owner of some bytes that UCX may be given: counts the Memory handles that look at them, and is
/// released when the last one goes. Derive from it to put the count into an object of yours that owns bytes;
/// Memory's own makers do so. Thread: one loop's; the count is a plain number.
class MemoryBlock {
 public:
  /// `release` is called when the last Memory has gone, never inside a callback of UCX. It may destroy the
  /// block. `registration` may be null.
  using Release = void (*)(MemoryBlock& block) noexcept;
  explicit MemoryBlock(Release release, ucp_mem_h registration = nullptr) noexcept
      : release_(release), registration_(registration) {}
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;

  std::uint32_t references() const noexcept { return references_; }
  ucp_mem_h registration() const noexcept { return registration_; }

 protected:
  ~MemoryBlock() = default;

 private:
  friend class Memory;
  std::uint32_t references_ = 0;
  Release release_;
  ucp_mem_h registration_;
};

/// A handle to bytes that keeps them: what every operation takes instead of a span, because UCX uses the
/// bytes until it says so, however the coroutine that asked fares. A copy shares the bytes. Empty when made
/// without arguments. Thread: one loop's.
class Memory {
 public:
  /// `size` bytes from the heap, not zeroed. Throws std::bad_alloc. For many of a size use a MemoryPool.
  static Memory allocate(std::size_t size);
  /// A copy of `bytes`, from the heap.
  static Memory copy_of(Bytes bytes);
  /// Takes `buffer` over.
  static Memory adopt(Buffer buffer);
  /// Keeps `chunk` for as long as there are handles; [offset, offset + size) must lie in it.
  static Memory adopt(ChunkRef chunk, std::size_t offset, std::size_t size);
  /// `bytes` without an owner: the caller keeps them until the operation has completed, which is later than
  /// its cancellation. A coroutine that is cancelled in such an operation waits for UCX; one that is dropped
  /// ends the process with a message. See docs/pitfalls/ucx.md, "Borrowed memory".
  static Memory unsafe_borrow(Bytes bytes) noexcept {
    return Memory{const_cast<std::byte*>(bytes.data()), bytes.size(), nullptr};
  }

  Memory() noexcept = default;
  /// Bytes that `block` owns.
  Memory(MemoryBlock& block, MutableBytes bytes) noexcept : Memory(bytes.data(), bytes.size(), &block) {}
  Memory(const Memory& other) noexcept : Memory(other.data_, other.size_, other.block_) {}
  Memory(Memory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        block_(std::exchange(other.block_, nullptr)) {}
  Memory& operator=(Memory other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(block_, other.block_);
    return *this;
  }
  ~Memory() {
    if (block_ != nullptr) let_go();
  }

  /// The `size` bytes from `offset` on, which must lie within.
  Memory slice(std::size_t offset, std::size_t size) const noexcept {
    WEFT_ASSERT(offset <= size_ && size <= size_ - offset, "a slice lies within its memory");
    return Memory{data_ + offset, size, block_};
  }
  Memory first(std::size_t size) const noexcept { return slice(0, size); }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Bytes bytes() const noexcept { return {data_, size_}; }
  MutableBytes mutable_bytes() const noexcept { return {data_, size_}; }
  /// False for borrowed bytes, which nobody keeps.
  bool owned() const noexcept { return block_ != nullptr || size_ == 0; }
  MemoryBlock* block() const noexcept { return block_; }
  void reset() noexcept { const Memory gone{std::move(*this)}; }

 private:
  Memory(std::byte* data, std::size_t size, MemoryBlock* block) noexcept
      : data_(data), size_(size), block_(block) {
    if (block_ != nullptr) ++block_->references_;
  }
  void let_go() noexcept {
    if (--block_->references_ == 0) block_->release_(*block_);
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  MemoryBlock* block_ = nullptr;
};

/// Makes Memory of one size and keeps what comes back for the next use. Outlives its memory.
/// Thread: one loop's.
class MemoryPool {
 public:
  /// Blocks of `block_bytes`, 64-aligned; at most `cached_max` free ones are kept.
  explicit MemoryPool(std::size_t block_bytes, std::size_t cached_max = 64) noexcept;
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;
  ~MemoryPool();

  /// `size` bytes, not zeroed; more than a block's comes from the heap and goes back there. Empty when memory
  /// is out and `size` is not zero.
  Memory allocate(std::size_t size) noexcept;
  Memory allocate() noexcept { return allocate(block_bytes_); }

  std::size_t block_bytes() const noexcept { return block_bytes_; }
  /// Blocks that somebody holds.
  std::size_t blocks_out() const noexcept { return out_; }

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
