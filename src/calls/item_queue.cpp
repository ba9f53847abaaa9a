// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/item_queue.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "weft/base/bytes.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

namespace {

/// In front of each item that was copied: its size.
constexpr std::size_t kLengthBytes = 8;
/// A larger item stays in its chunk, if it is most of that.
constexpr std::size_t kCopiedBytes = 8 * 1024;
/// Memory of the first blocks: a stream on which little waits takes little.
constexpr std::size_t kFirstBlockBytes = 512;
constexpr std::size_t kNextBlockBytes = 4096;

bool stays_in_chunk(Bytes item, const ChunkRef& chunk) {
  return item.size() > kCopiedBytes && chunk && item.size() >= chunk->capacity() / 4 * 3;
}

}  // namespace

/// Memory for items: its own behind it, a chunk that they are copied into, or the chunk of one item.
struct ItemQueue::Block {
  Block* next = nullptr;
  std::byte* data = nullptr;
  std::size_t capacity = 0;
  /// Of what is in it, the part that was not taken.
  std::size_t begin = 0;
  std::size_t end = 0;
  ChunkRef chunk{};
  std::size_t charge = 0;
  /// Bytes of its allocation.
  std::size_t allocated = 0;
  /// It is one item, without its length in front.
  bool is_item = false;
};

bool ItemQueue::push(Bytes item, const ChunkRef& chunk, LocalBudget& budget, ChunkPool& chunks) noexcept {
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
  store_le<std::uint64_t>(block->data + block->end, item.size());
  if (!item.empty()) std::memcpy(block->data + block->end + kLengthBytes, item.data(), item.size());
  block->end += needed;
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

Bytes ItemQueue::front() const noexcept {
  const Block& block = *first_;
  if (block.is_item) return {block.data, block.end};
  const std::byte* const at = block.data + block.begin;
  return {at + kLengthBytes, static_cast<std::size_t>(load_le<std::uint64_t>(at))};
}

void ItemQueue::pop() noexcept {
  Block& block = *first_;
  if (!block.is_item) {
    block.begin += kLengthBytes + wire::padded(front().size());
    if (block.begin != block.end) return;
  }
  drop_first();
}

void ItemQueue::clear() noexcept {
  while (first_ != nullptr) drop_first();
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
