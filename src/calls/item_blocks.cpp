// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/item_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>

#include "weft/detail/memory/budget.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

namespace {

/// In front of each item: its size.
constexpr std::size_t kLengthBytes = 8;
/// Memory of a block that is alone, and of those behind it: where little waits, little is taken.
constexpr std::size_t kFirstBytes = 2 * 1024;
constexpr std::size_t kNextBytes = 16 * 1024;

}  // namespace

/// Head of a block; the items are behind it.
struct ItemBlocks::Block {
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

  Block* next = nullptr;
  std::size_t capacity = 0;
  /// Of what is in it, the part that was not taken.
  std::size_t begin = 0;
  std::size_t end = 0;
  MemoryBudget* budget = nullptr;
};

std::byte* ItemBlocks::add(std::size_t bytes, MemoryBudget* budget) noexcept {
  const std::size_t needed = kLengthBytes + wire::padded(bytes);
  Block* block = last_;
  if (block == nullptr || block->capacity - block->end < needed) {
    block = add_block(needed, budget);
    if (block == nullptr) return nullptr;
  }
  std::byte* const at = block->data() + block->end;
  store_le<std::uint64_t>(at, bytes);
  block->end += needed;
  return at + kLengthBytes;
}

bool ItemBlocks::add(Bytes item, MemoryBudget* budget) noexcept {
  std::byte* const to = add(item.size(), budget);
  if (to != nullptr && !item.empty()) std::memcpy(to, item.data(), item.size());
  return to != nullptr;
}

ItemBlocks::Block* ItemBlocks::add_block(std::size_t bytes, MemoryBudget* budget) noexcept {
  const std::size_t usual = first_ == nullptr ? kFirstBytes : kNextBytes;
  const std::size_t memory = std::max(usual, sizeof(Block) + bytes);
  if (budget != nullptr && !budget->try_reserve(memory)) return nullptr;
  void* const place = ::operator new(memory, std::nothrow);
  if (place == nullptr) {
    if (budget != nullptr) budget->release(memory);
    return nullptr;
  }
  Block* const block = ::new (place) Block{.capacity = memory - sizeof(Block), .budget = budget};
  (first_ == nullptr ? first_ : last_->next) = block;
  last_ = block;
  return block;
}

void ItemBlocks::append(ItemBlocks& other) noexcept {
  if (other.empty()) return;
  (first_ == nullptr ? first_ : last_->next) = std::exchange(other.first_, nullptr);
  last_ = std::exchange(other.last_, nullptr);
}

Bytes ItemBlocks::front() const noexcept {
  const std::byte* const at = first_->data() + first_->begin;
  return {at + kLengthBytes, static_cast<std::size_t>(load_le<std::uint64_t>(at))};
}

bool ItemBlocks::has_one() const noexcept {
  const std::size_t bytes = kLengthBytes + wire::padded(front().size());
  return first_ == last_ && first_->begin + bytes == first_->end;
}

void ItemBlocks::pop() noexcept {
  first_->begin += kLengthBytes + wire::padded(front().size());
  if (first_->begin == first_->end) drop_first();
}

void ItemBlocks::clear() noexcept {
  while (first_ != nullptr) drop_first();
}

void ItemBlocks::drop_first() noexcept {
  Block* const block = first_;
  first_ = block->next;
  if (first_ == nullptr) last_ = nullptr;
  const std::size_t memory = sizeof(Block) + block->capacity;
  MemoryBudget* const budget = block->budget;
  std::destroy_at(block);
  ::operator delete(static_cast<void*>(block));
  if (budget != nullptr) budget->release(memory);
}

}  // namespace weft::detail
