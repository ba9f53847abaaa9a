// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/base/bytes.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/memory/local_budget.hpp"

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
  bool push(Bytes item, const ChunkRef& chunk, LocalBudget& budget, ChunkPool& chunks) noexcept;
  /// Returns the item that comes next, at an address that is a multiple of 8; valid until pop(). Not when
  /// empty.
  Bytes front() const noexcept;
  void pop() noexcept;
  void clear() noexcept;

 private:
  struct Block;

  Block* add_block(std::size_t capacity, LocalBudget& budget, ChunkPool& chunks) noexcept;
  Block* new_block(std::size_t memory) noexcept;
  void append(Block& block, std::size_t charge, LocalBudget& budget) noexcept;
  void drop_first() noexcept;

  Block* first_ = nullptr;
  Block* last_ = nullptr;
  LocalBudget* budget_ = nullptr;
};

}  // namespace weft::detail
