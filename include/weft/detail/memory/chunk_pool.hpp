// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/memory/large_chunks.hpp"

namespace weft::detail {

class ChunkPool;
class ChunkRef;

/// Owner of memory that is lent to be looked at as a chunk, such as a library's receive buffer.
class ChunkLender {
 public:
  /// Returns `memory`, which is no longer read. Outlives the chunks that it lent.
  virtual void on_chunk_returned(MutableBytes memory) noexcept = 0;

 protected:
  ~ChunkLender() = default;
};

/// A block of memory that frames are received into and encoded into. Every user of its bytes holds a
/// ChunkRef; the last one returns it to its pool, or to its lender. Created by ChunkPool only. Thread: the
/// pool's. The count is a plain number, not atomic.
class alignas(64) Chunk {
 public:
  /// The first of capacity() bytes, 64-aligned unless lent; not zeroed.
  std::byte* data() noexcept { return data_; }
  const std::byte* data() const noexcept { return data_; }
  std::size_t capacity() const noexcept { return capacity_; }
  MutableBytes memory() noexcept { return {data_, capacity_}; }
  /// Its memory is a ChunkLender's.
  bool is_lent() const noexcept { return lender_ != nullptr; }
  /// Returns the number of ChunkRefs; 1 means that the holder is the only user of the bytes.
  std::uint32_t references() const noexcept { return references_; }

 private:
  friend class ChunkPool;
  friend class ChunkRef;
  friend class LargeChunks;
  Chunk(ChunkPool& pool, std::size_t capacity) noexcept
      : pool_(&pool), data_(reinterpret_cast<std::byte*>(this + 1)), capacity_(capacity) {}

  ChunkPool* const pool_;
  Chunk* next_free_ = nullptr;
  std::byte* data_;
  std::size_t capacity_;
  ChunkLender* lender_ = nullptr;
  /// Counted in ChunkPool::unfilled_bytes().
  std::size_t unfilled_ = 0;
  std::uint32_t references_ = 0;
};

/// Shared ownership of a Chunk, or of nothing. A copy retains. Thread: the pool's.
class ChunkRef {
 public:
  ChunkRef() noexcept = default;
  ChunkRef(const ChunkRef& other) noexcept : chunk_(other.chunk_) { retain(); }
  ChunkRef(ChunkRef&& other) noexcept : chunk_(std::exchange(other.chunk_, nullptr)) {}
  ChunkRef& operator=(ChunkRef other) noexcept {
    std::swap(chunk_, other.chunk_);
    return *this;
  }
  ~ChunkRef() { reset(); }

  explicit operator bool() const noexcept { return chunk_ != nullptr; }
  Chunk* get() const noexcept { return chunk_; }
  Chunk& operator*() const noexcept { return *chunk_; }
  Chunk* operator->() const noexcept { return chunk_; }
  void reset() noexcept;

  friend bool operator==(const ChunkRef&, const ChunkRef&) = default;

 private:
  friend class ChunkPool;
  explicit ChunkRef(Chunk* chunk) noexcept : chunk_(chunk) { retain(); }
  void retain() noexcept {
    if (chunk_ != nullptr) ++chunk_->references_;
  }

  Chunk* chunk_ = nullptr;
};

struct ChunkPoolOptions {
  /// Capacity of a standard chunk.
  std::size_t chunk_bytes = 64 * 1024;
  /// Free standard chunks are kept for the next use up to this much memory; more is given back to the system.
  std::size_t cached_bytes_max = 4 * 1024 * 1024;
  /// Limit of free larger chunks that are kept for reuse: a loop returns chunks unused for a second or two to
  /// the system. The same limit applies to memory for bytes that are announced but have not arrived.
  std::size_t large_bytes_max = 64 * 1024 * 1024;
};

/// Calls ChunkPool::release_unused() periodically.
class ChunkKeeper {
 public:
  /// Large chunks are kept, and have to be released when they are unused.
  virtual void on_large_kept() noexcept = 0;

 protected:
  ~ChunkKeeper() = default;
};

/// Makes chunks and keeps free standard ones, the last used first because it is still in the cache, and with
/// a keeper larger ones too, as long as they are used. Owned by a loop. Thread: its loop's only. Asserts in
/// its destructor that every chunk was returned.
class ChunkPool {
 public:
  static constexpr std::size_t kRoomyBy = 4;

  /// Makes large chunks to measure, and keeps none, without `keeper`, which outlives its use.
  explicit ChunkPool(ChunkPoolOptions options = {}, ChunkKeeper* keeper = nullptr) noexcept;
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;
  ~ChunkPool();

  /// Returns an unused standard chunk. Allocates only if no chunk is free. Null when memory is exhausted.
  ChunkRef acquire() noexcept {
    Chunk* chunk = free_;
    if (chunk == nullptr) return allocate(options_.chunk_bytes);
    free_ = chunk->next_free_;
    cached_bytes_ -= chunk->capacity_;
    ++chunks_out_;
    return ChunkRef{chunk};
  }
  /// Returns a chunk of `at_least` bytes or more: a standard one if that suffices, else a larger one with at
  /// most a fifth unused. Null when memory is exhausted.
  ChunkRef acquire(std::size_t at_least) noexcept {
    return at_least <= options_.chunk_bytes ? acquire() : acquire_large(at_least);
  }
  /// The same from kept memory, for a frame with only `there` arrived bytes: the rest counts in
  /// unfilled_bytes(), unless it is a quarter or less. Null if no such chunk is kept, or if too much is
  /// unfilled. Never allocates.
  ChunkRef acquire_kept(std::size_t at_least, std::size_t there) noexcept;

  /// `memory`, which is `lender`'s, as a chunk. No allocation once there were as many of these before. Null
  /// when memory is exhausted; nothing was lent then.
  ChunkRef lend(MutableBytes memory, ChunkLender& lender) noexcept {
    Chunk* chunk = free_lent_;
    if (chunk == nullptr) [[unlikely]] {
      chunk = make_lent();
      if (chunk == nullptr) return {};
    }
    free_lent_ = chunk->next_free_;
    chunk->data_ = memory.data();
    chunk->capacity_ = memory.size();
    chunk->lender_ = &lender;
    ++chunks_out_;
    return ChunkRef{chunk};
  }

  /// `bytes` have arrived in `chunk`.
  void fill(Chunk& chunk, std::size_t bytes) noexcept {
    if (chunk.unfilled_ != 0) [[unlikely]]
      set_unfilled(chunk, chunk.unfilled_ - std::min(chunk.unfilled_, bytes));
  }
  /// Counts all of `chunk`, which is not lent, as unfilled but for the `there` bytes that still wait in it.
  /// False when too much would be unfilled; nothing has changed then.
  bool count_unfilled(Chunk& chunk, std::size_t there) noexcept;

  std::size_t chunk_bytes() const noexcept { return options_.chunk_bytes; }
  /// Size of a chunk that small frames are received into while a standard one would be full at once.
  std::size_t roomy_bytes() const noexcept { return kRoomyBy * options_.chunk_bytes; }
  /// Number of chunks in use.
  std::size_t chunks_out() const noexcept { return chunks_out_; }
  /// Memory of free chunks that are kept.
  std::size_t cached_bytes() const noexcept { return cached_bytes_ + large_.bytes(); }
  /// Memory of large chunks that are out for bytes which have not arrived: large_bytes_max at most. A chunk
  /// filled but for a quarter counts as full, for a whole frame may leave a fifth of its chunk unused.
  std::size_t unfilled_bytes() const noexcept { return unfilled_bytes_; }
  /// Gives all free chunks back to the system.
  void trim() noexcept;
  /// Returns large chunks to the system that were unused since the previous call. Returns true while more are
  /// kept.
  bool release_unused() noexcept;

 private:
  friend class ChunkRef;
  ChunkRef acquire_large(std::size_t at_least) noexcept;
  ChunkRef allocate(std::size_t capacity) noexcept;
  bool keeps_large(std::size_t bytes) const noexcept { return keeper_ != nullptr && large_.keeps(bytes); }
  bool keep_large(Chunk* chunk) noexcept;
  void set_unfilled(Chunk& chunk, std::size_t bytes) noexcept;
  Chunk* make_lent() noexcept;
  void give_back(Chunk* chunk) noexcept;
  static void free_memory(Chunk* chunk) noexcept;

  const ChunkPoolOptions options_;
  const ForkMark made_in_;
  ChunkKeeper* const keeper_;
  Chunk* free_ = nullptr;
  Chunk* free_lent_ = nullptr;
  std::size_t cached_bytes_ = 0;
  std::size_t chunks_out_ = 0;
  std::size_t unfilled_bytes_ = 0;
  LargeChunks large_;
};

inline void ChunkRef::reset() noexcept {
  Chunk* chunk = std::exchange(chunk_, nullptr);
  if (chunk != nullptr && --chunk->references_ == 0) chunk->pool_->give_back(chunk);
}

}  // namespace weft::detail
