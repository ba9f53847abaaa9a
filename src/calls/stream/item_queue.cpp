// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/stream/item_queue.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "weft/detail/coro/frame_pool.hpp"

namespace weft::detail {

namespace {

/// Memory of the first blocks: a stream on which little waits takes little.
constexpr std::size_t kFirstBlockBytes = 512;
constexpr std::size_t kNextBlockBytes = 4096;

}  // namespace

bool ItemQueue::push_elsewhere(Bytes item, const ChunkRef& chunk, LocalBudget& budget,
                               ChunkPool& chunks) noexcept {
  if (stays_in_chunk(item, chunk)) {
    if (!budget.try_reserve(chunk->capacity())) return false;
    Block* const block = new_block(sizeof(Block));
    if (block == nullptr) {
      budget.release(chunk->capacity());
      return false;
    }
    block->data = const_cast<std::byte*>(item.data());
    block->end = block->capacity = item.size();  // nothing is put behind it
    block->chunk = chunk;
    block->is_item = true;
    append(*block, chunk->capacity(), budget);
    return true;
  }
  const std::size_t needed = kLengthBytes + wire::padded(item.size());
  Block* block = last_;
  if (block == nullptr || block->capacity - block->end < needed) {
    block = add_block(needed, budget, chunks);
    if (block == nullptr) return false;
  }
  copy_behind(*block, item);
  return true;
}

// The more waits, the larger the next block.
ItemQueue::Block* ItemQueue::add_block(std::size_t capacity, LocalBudget& budget,
                                       ChunkPool& chunks) noexcept {
  const std::size_t wanted = first_ == nullptr ? kFirstBlockBytes : kNextBlockBytes;
  const bool in_chunk = capacity + sizeof(Block) > kNextBlockBytes || first_ != last_;
  ChunkRef chunk;
  if (in_chunk) {
    chunk = chunks.acquire(capacity);
    if (!chunk) return nullptr;
  }
  const std::size_t memory = in_chunk ? sizeof(Block) : std::max(wanted, sizeof(Block) + capacity);
  const std::size_t charge = memory + (chunk ? chunk->capacity() : 0);
  if (!budget.try_reserve(charge)) return nullptr;
  Block* const block = new_block(memory);
  if (block == nullptr) {
    budget.release(charge);
    return nullptr;
  }
  block->data = chunk ? chunk->data() : reinterpret_cast<std::byte*>(block + 1);
  block->capacity = chunk ? chunk->capacity() : memory - sizeof(Block);
  block->chunk = std::move(chunk);
  append(*block, charge, budget);
  return block;
}

ItemQueue::Block* ItemQueue::new_block(std::size_t memory) noexcept {
  try {
    void* const place = allocate_frame(memory);
    return ::new (place) Block{.allocated = memory};
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

void ItemQueue::append(Block& block, std::size_t charge, LocalBudget& budget) noexcept {
  block.charge = charge;
  budget_ = &budget;
  (first_ == nullptr ? first_ : last_->next) = &block;
  last_ = &block;
}

void ItemQueue::clear() noexcept {
  while (first_ != nullptr) drop_first();
}

std::size_t ItemQueue::count() const noexcept {
  std::size_t count = 0;
  for (const Block* block = first_; block != nullptr; block = block->next) {
    if (block->is_item) ++count;
    for (std::size_t at = block->begin; !block->is_item && at != block->end; ++count) {
      at += kLengthBytes + wire::padded(load_le<std::uint64_t>(block->data + at));
    }
  }
  return count;
}

void ItemQueue::drop_first() noexcept {
  Block* const block = first_;
  first_ = block->next;
  if (first_ == nullptr) last_ = nullptr;
  budget_->release(block->charge);
  const std::size_t allocated = block->allocated;
  std::destroy_at(block);
  release_frame(block, allocated);
}

}  // namespace weft::detail
