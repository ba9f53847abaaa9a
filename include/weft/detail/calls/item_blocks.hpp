// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/attachment.hpp"

namespace weft::detail {

class MemoryBudget;

/// Items of a stream that go from one thread to another, in their order: in blocks of the heap, which any
/// thread may free, and which are charged while there is something in them. Who has it is the owner's
/// business. Thread: one at a time.
class ItemBlocks {
 public:
  ItemBlocks() = default;
  ItemBlocks(ItemBlocks&& other) noexcept
      : first_(std::exchange(other.first_, nullptr)), last_(std::exchange(other.last_, nullptr)) {}
  ItemBlocks& operator=(ItemBlocks&& other) noexcept {
    clear();
    append(other);
    return *this;
  }
  ~ItemBlocks() { clear(); }

  bool empty() const noexcept { return first_ == nullptr; }
  /// Adds an item of `bytes` and returns its place, at an address that is a multiple of 8. Null when there is
  /// no memory for it: of `budget`, which outlives the item and may be null, or of the system.
  /// `attachment`, which may be null, goes with it, and is taken then.
  std::byte* add(std::size_t bytes, MemoryBudget* budget, Attachment* attachment = nullptr) noexcept;
  bool add(Bytes item, MemoryBudget* budget, Attachment* attachment = nullptr) noexcept;
  /// Takes all that `other` has to its end.
  void append(ItemBlocks& other) noexcept;
  /// Returns the item that comes next; valid until pop(). Not when empty.
  Bytes front() const noexcept;
  /// Attachment of the same item, which may be moved from; null when it has none.
  Attachment* attachment() const noexcept;
  void pop() noexcept;
  /// It has no item behind the one that comes next. Not when empty.
  bool has_one() const noexcept;
  void clear() noexcept;

 private:
  struct Block;

  /// Bytes of the item that comes next, with what is in front of it.
  std::size_t front_bytes() const noexcept;
  Block* add_block(std::size_t bytes, MemoryBudget* budget) noexcept;
  void drop_first() noexcept;

  Block* first_ = nullptr;
  Block* last_ = nullptr;
};

}  // namespace weft::detail
