// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/terms/chunk_keeping.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

/// Items of a stream that have arrived and were not taken, in order. A small item is copied to a block that
/// it shares with others, so that it does not pin a whole receive chunk; a large one stays in its chunk if it
/// fills most of it. Blocks are charged while they hold items, and an empty queue has no blocks. Thread: its
/// loop's.
class ItemQueue {
 public:
  ItemQueue() = default;
  ItemQueue(const ItemQueue&) = delete;
  ItemQueue& operator=(const ItemQueue&) = delete;
  ~ItemQueue() { clear(); }

  bool empty() const noexcept { return first_ == nullptr; }
  /// Adds `item`, which arrived in `chunk`. Returns false when `budget` or the system is out of memory.
  /// `budget` must outlive the queue. Blocks are taken from `chunks`.
  bool push(Bytes item, const ChunkRef& chunk, LocalBudget& budget, ChunkPool& chunks) noexcept {
    const std::size_t needed = kLengthBytes + wire::padded(item.size());
    const bool fits = last_ != nullptr && needed <= last_->capacity - last_->end;
    if (!fits || item.size() > kCopiedBodyBytes) [[unlikely]] {
      return push_elsewhere(item, chunk, budget, chunks);
    }
    copy_behind(*last_, item);
    return true;
  }
  /// Returns the next item, aligned to 8 bytes; valid until pop(). Not when empty.
  Bytes front() const noexcept {
    const Block& block = *first_;
    if (block.is_item) return {block.data, block.end};
    const std::byte* const at = block.data + block.begin;
    return {at + kLengthBytes, static_cast<std::size_t>(load_le<std::uint64_t>(at))};
  }
  void pop() noexcept {
    Block& block = *first_;
    if (!block.is_item) [[likely]] {
      block.begin += kLengthBytes + wire::padded(front().size());
      if (block.begin != block.end) return;
    }
    drop_first();
  }
  void clear() noexcept;
  /// Returns the number of items, by walking along all of them.
  std::size_t count() const noexcept;

 private:
  /// Size of the length in front of each copied item.
  static constexpr std::size_t kLengthBytes = 8;

  /// Memory for items: allocated together with this block, or a chunk that items are copied into, or the
  /// chunk of one item.
  struct Block {
    Block* next = nullptr;
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    /// Bounds of the part that was not taken yet.
    std::size_t begin = 0;
    std::size_t end = 0;
    ChunkRef chunk{};
    std::size_t charge = 0;
    /// Size of its allocation in bytes.
    std::size_t allocated = 0;
    /// The block is a single item, without its length in front.
    bool is_item = false;
  };

  static void copy_behind(Block& block, Bytes item) noexcept {
    std::byte* const at = block.data + block.end;
    store_le<std::uint64_t>(at, item.size());
    if (!item.empty()) std::memcpy(at + kLengthBytes, item.data(), item.size());
    block.end += kLengthBytes + wire::padded(item.size());
  }
  /// Adds the item in a block of its own, or in a new block.
  bool push_elsewhere(Bytes item, const ChunkRef& chunk, LocalBudget& budget, ChunkPool& chunks) noexcept;
  Block* add_block(std::size_t capacity, LocalBudget& budget, ChunkPool& chunks) noexcept;
  Block* new_block(std::size_t memory) noexcept;
  void append(Block& block, std::size_t charge, LocalBudget& budget) noexcept;
  void drop_first() noexcept;

  Block* first_ = nullptr;
  Block* last_ = nullptr;
  LocalBudget* budget_ = nullptr;
};

}  // namespace weft::detail
