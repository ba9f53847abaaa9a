// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/calls/terms/attachment.hpp"

namespace weft::detail {

class MemoryBudget;

/// Items of a stream in transit from one thread to another, in order. They lie in blocks of the heap, which
/// any thread may free and which are charged while they hold items. The owner provides the synchronization.
/// Thread: one at a time.
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
  /// Adds an item of `bytes` and returns its place, aligned to 8 bytes. Null when `budget` or the system is
  /// out of memory. `budget` must outlive the item and may be null. `attachment` may be null; it is moved
  /// from when the item is added.
  std::byte* add(std::size_t bytes, MemoryBudget* budget, Attachment* attachment = nullptr) noexcept;
  bool add(Bytes item, MemoryBudget* budget, Attachment* attachment = nullptr) noexcept;
  /// Appends all items of `other`.
  void append(ItemBlocks& other) noexcept;
  /// Returns the next item; valid until pop(). Not when empty.
  Bytes front() const noexcept;
  /// Attachment of the next item, which may be moved from; null when it has none.
  Attachment* attachment() const noexcept;
  void pop() noexcept;
  /// Returns true if there is exactly one item. Not when empty.
  bool has_one() const noexcept;
  void clear() noexcept;

 private:
  struct Block;

  /// Size of the next item together with its prefix.
  std::size_t front_bytes() const noexcept;
  Block* add_block(std::size_t bytes, MemoryBudget* budget) noexcept;
  void drop_first() noexcept;

  Block* first_ = nullptr;
  Block* last_ = nullptr;
};

}  // namespace weft::detail
