// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/item_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "weft/detail/memory/budget.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

namespace {

/// Bytes in front of each item: its size, and whether its Attachment follows that.
constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kAttached = std::uint64_t{1} << 63;
static_assert(alignof(Attachment) <= 8 && sizeof(Attachment) % 8 == 0);

std::size_t head_bytes_of(const std::byte* item) noexcept {
  return kLengthBytes + ((load_le<std::uint64_t>(item) & kAttached) != 0 ? sizeof(Attachment) : 0);
}
/// Memory of a block that is alone, and of those behind it: where little waits, little is taken.
constexpr std::size_t kFirstBytes = 2 * 1024;
constexpr std::size_t kNextBytes = 16 * 1024;

}  // namespace

/// Head of a block; the items are behind it.
struct ItemBlocks::Block {
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this + 1); }

  Block* next = nullptr;
  std::size_t capacity = 0;
  /// Bounds of the part that was not taken yet.
  std::size_t begin = 0;
  std::size_t end = 0;
  MemoryBudget* budget = nullptr;
};

std::byte* ItemBlocks::add(std::size_t bytes, MemoryBudget* budget, Attachment* attachment) noexcept {
  const std::size_t head = kLengthBytes + (attachment != nullptr ? sizeof(Attachment) : 0);
  const std::size_t needed = head + wire::padded(bytes);
  Block* block = last_;
  if (block == nullptr || block->capacity - block->end < needed) {
    block = add_block(needed, budget);
    if (block == nullptr) return nullptr;
  }
  std::byte* const at = block->data() + block->end;
  store_le<std::uint64_t>(at, bytes | (attachment != nullptr ? kAttached : 0));
  if (attachment != nullptr) ::new (static_cast<void*>(at + kLengthBytes)) Attachment{std::move(*attachment)};
  block->end += needed;
  return at + head;
}

bool ItemBlocks::add(Bytes item, MemoryBudget* budget, Attachment* attachment) noexcept {
  std::byte* const to = add(item.size(), budget, attachment);
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
  return {at + head_bytes_of(at), static_cast<std::size_t>(load_le<std::uint64_t>(at) & ~kAttached)};
}

Attachment* ItemBlocks::attachment() const noexcept {
  std::byte* const at = first_->data() + first_->begin;
  if (head_bytes_of(at) == kLengthBytes) return nullptr;
  return std::launder(reinterpret_cast<Attachment*>(at + kLengthBytes));
}

std::size_t ItemBlocks::front_bytes() const noexcept {
  return head_bytes_of(first_->data() + first_->begin) + wire::padded(front().size());
}

bool ItemBlocks::has_one() const noexcept {
  return first_ == last_ && first_->begin + front_bytes() == first_->end;
}

void ItemBlocks::pop() noexcept {
  const std::size_t bytes = front_bytes();
  if (Attachment* const attached = attachment()) std::destroy_at(attached);
  first_->begin += bytes;
  if (first_->begin == first_->end) drop_first();
}

void ItemBlocks::clear() noexcept {
  while (first_ != nullptr) pop();
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
