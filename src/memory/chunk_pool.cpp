// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/chunk_pool.hpp"

#include <limits>
#include <new>
#include <utility>

namespace weft::detail {

static_assert(sizeof(Chunk) == 64, "a chunk's data begins one cache line after the chunk");

ChunkPool::ChunkPool(ChunkPoolOptions options, ChunkKeeper* keeper) noexcept
    : options_(options), keeper_(keeper), large_(options.large_bytes_max) {
  WEFT_ASSERT(options_.chunk_bytes > 0, "ChunkPoolOptions::chunk_bytes is zero");
}

ChunkPool::~ChunkPool() {
  WEFT_ASSERT(chunks_out_ == 0 || made_in_.in_child(), "a chunk outlives its pool");
  WEFT_ASSERT(unfilled_bytes_ == 0 || chunks_out_ != 0, "only chunks that are out are unfilled");
  trim();
}

ChunkRef ChunkPool::acquire_large(std::size_t at_least) noexcept {
  if (!keeps_large(at_least)) return allocate(at_least);
  Chunk* const kept = large_.take(at_least);
  if (kept == nullptr) return allocate(LargeChunks::rounded(at_least));
  ++chunks_out_;
  return ChunkRef{kept};
}

ChunkRef ChunkPool::acquire_kept(std::size_t at_least, std::size_t there) noexcept {
  if (!keeps_large(at_least)) return {};
  if (LargeChunks::rounded(at_least) - there > options_.large_bytes_max - unfilled_bytes_) return {};
  Chunk* const chunk = large_.take(at_least);
  if (chunk == nullptr) return {};
  ++chunks_out_;
  set_unfilled(*chunk, chunk->capacity_ - there);
  return ChunkRef{chunk};
}

bool ChunkPool::count_unfilled(Chunk& chunk, std::size_t there) noexcept {
  const std::size_t bytes = chunk.capacity_ - there;
  if (bytes > chunk.unfilled_) {
    if (bytes - chunk.unfilled_ > options_.large_bytes_max - unfilled_bytes_) return false;
    set_unfilled(chunk, bytes);
  }
  return true;
}

// The chunk carries its charge, and returns it wherever it ends.
void ChunkPool::set_unfilled(Chunk& chunk, std::size_t bytes) noexcept {
  if (bytes <= chunk.capacity_ / 4) bytes = 0;
  unfilled_bytes_ += bytes - chunk.unfilled_;
  chunk.unfilled_ = bytes;
}

void ChunkPool::trim() noexcept {
  while (free_ != nullptr) {
    Chunk* chunk = free_;
    free_ = chunk->next_free_;
    free_memory(chunk);
  }
  cached_bytes_ = 0;
  while (Chunk* chunk = large_.take_any()) free_memory(chunk);
  while (free_lent_ != nullptr) free_memory(std::exchange(free_lent_, free_lent_->next_free_));
}

bool ChunkPool::release_unused() noexcept {
  while (Chunk* chunk = large_.take_unused()) free_memory(chunk);
  large_.next_period();
  return large_.bytes() > 0;
}

// Only what stands for the memory; the memory itself is the lender's.
Chunk* ChunkPool::make_lent() noexcept {
  void* memory = ::operator new(sizeof(Chunk), std::align_val_t{alignof(Chunk)}, std::nothrow);
  return memory != nullptr ? ::new (memory) Chunk(*this, 0) : nullptr;
}

ChunkRef ChunkPool::allocate(std::size_t capacity) noexcept {
  if (capacity > std::numeric_limits<std::ptrdiff_t>::max() - sizeof(Chunk)) return {};
  void* memory = ::operator new(sizeof(Chunk) + capacity, std::align_val_t{alignof(Chunk)}, std::nothrow);
  if (memory == nullptr) return {};
  ++chunks_out_;
  return ChunkRef{::new (memory) Chunk(*this, capacity)};
}

void ChunkPool::give_back(Chunk* chunk) noexcept {
  --chunks_out_;
  if (chunk->lender_ != nullptr) {
    chunk->next_free_ = free_lent_;
    free_lent_ = chunk;
    return std::exchange(chunk->lender_, nullptr)->on_chunk_returned(chunk->memory());
  }
  if (chunk->capacity_ != options_.chunk_bytes) {
    unfilled_bytes_ -= std::exchange(chunk->unfilled_, 0u);
    if (!keep_large(chunk)) free_memory(chunk);
    return;
  }
  if (cached_bytes_ + chunk->capacity_ > options_.cached_bytes_max) return free_memory(chunk);
  chunk->next_free_ = free_;
  free_ = chunk;
  cached_bytes_ += chunk->capacity_;
}

bool ChunkPool::keep_large(Chunk* chunk) noexcept {
  if (!keeps_large(chunk->capacity_) || !large_.put(chunk)) return false;
  keeper_->on_large_kept();
  return true;
}

void ChunkPool::free_memory(Chunk* chunk) noexcept {
  chunk->~Chunk();
  ::operator delete(chunk, std::align_val_t{alignof(Chunk)});
}

}  // namespace weft::detail
