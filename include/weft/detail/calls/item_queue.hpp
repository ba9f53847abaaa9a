// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/chunk_keeping.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/memory/local_budget.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

/// Items of a stream that have arrived and were not taken, in their order. A small item is copied into a
/// block behind others, so that it does not keep a whole chunk from being received into; a large one stays
/// in the chunk that it came in, if it is most of it. Blocks are charged while there is something in them,
/// and an empty queue has none. Thread: its loop's.
class ItemQueue {
 public:
  ItemQueue() = default;
  ItemQueue(const ItemQueue&) = delete;
  ItemQueue& operator=(const ItemQueue&) = delete;
  ~ItemQueue() { clear(); }

  bool empty() const noexcept { return first_ == nullptr; }
  /// Keeps `item`, which came in `chunk`. False when there is no memory for it: of `budget`, which outlives
  /// the queue, or of the system. `chunks` are those that blocks are made of.
  bool push(Bytes item, const ChunkRef& chunk, LocalBudget& budget, ChunkPool& chunks) noexcept {
    const std::size_t needed = kLengthBytes + wire::padded(item.size());
    const bool fits = last_ != nullptr && needed <= last_->capacity - last_->end;
    if (!fits || item.size() > kCopiedBodyBytes) [[unlikely]] {
      return push_elsewhere(item, chunk, budget, chunks);
    }
    copy_behind(*last_, item);
    return true;
  }
  /// Returns the item that comes next, at an address that is a multiple of 8; valid until pop(). Not when
  /// empty.
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
  /// Returns how many there are, by a walk along all of them.
  std::size_t count() const noexcept;

 private:
  /// Bytes of the length that stands in front of each item that was copied.
  static constexpr std::size_t kLengthBytes = 8;

  /// Memory for items: its own behind it, a chunk that they are copied into, or the chunk of one item.
  struct Block {
    Block* next = nullptr;
    std::byte* data = nullptr;
    std::size_t capacity = 0;
    /// Bounds of the part that was not taken yet.
    std::size_t begin = 0;
    std::size_t end = 0;
    ChunkRef chunk{};
    std::size_t charge = 0;
    /// Bytes of its allocation.
    std::size_t allocated = 0;
    /// It is one item, without its length in front.
    bool is_item = false;
  };

  static void copy_behind(Block& block, Bytes item) noexcept {
    std::byte* const at = block.data + block.end;
    store_le<std::uint64_t>(at, item.size());
    if (!item.empty()) std::memcpy(at + kLengthBytes, item.data(), item.size());
    block.end += kLengthBytes + wire::padded(item.size());
  }
  /// Adds it in a block of its own, or in a new one.
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
