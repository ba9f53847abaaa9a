// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "weft/detail/balancing/endpoint_keys.hpp"

namespace weft::detail {

/// A binary heap of endpoints, with the least `Key` on top; equal keys are ordered by index. Finds each
/// endpoint by its index, to change or remove it. All functions but reset() are O(log n) and allocate
/// nothing.
template <typename Key>
class IndexedHeap {
 public:
  /// Empty, with room for `count` endpoints.
  void reset(std::size_t count) {
    std::vector<Item> heap;
    heap.reserve(count);
    std::vector<std::uint32_t> places(count, kNoIndex);
    heap_ = std::move(heap);
    place_ = std::move(places);
  }

  bool empty() const noexcept { return heap_.empty(); }
  bool contains(std::uint32_t index) const noexcept { return place_[index] != kNoIndex; }
  std::uint32_t top() const noexcept { return heap_.front().second; }
  /// Returns the key of one that is in.
  Key key(std::uint32_t index) const noexcept { return heap_[place_[index]].first; }
  Key top_key() const noexcept { return heap_.front().first; }

  /// Puts `index` in, or gives it another key.
  void set(std::uint32_t index, Key key) noexcept {
    std::uint32_t at = place_[index];
    if (at == kNoIndex) {
      at = static_cast<std::uint32_t>(heap_.size());
      heap_.emplace_back(key, index);
      place_[index] = at;
    } else {
      heap_[at].first = key;
    }
    sift(at);
  }
  /// Does nothing when it is not in.
  void remove(std::uint32_t index) noexcept {
    const std::uint32_t at = place_[index];
    if (at == kNoIndex) return;
    place_[index] = kNoIndex;
    const Item last = heap_.back();
    heap_.pop_back();
    if (at == heap_.size()) return;
    put(at, last);
    sift(at);
  }

 private:
  using Item = std::pair<Key, std::uint32_t>;

  void put(std::uint32_t at, Item item) noexcept {
    heap_[at] = item;
    place_[item.second] = at;
  }
  void sift(std::uint32_t at) noexcept {
    const Item item = heap_[at];
    for (; at > 0 && item < heap_[(at - 1) / 2]; at = (at - 1) / 2) put(at, heap_[(at - 1) / 2]);
    const auto count = static_cast<std::uint32_t>(heap_.size());
    for (std::uint32_t child = 2 * at + 1; child < count; child = 2 * at + 1) {
      if (child + 1 < count && heap_[child + 1] < heap_[child]) ++child;
      if (!(heap_[child] < item)) break;
      put(at, heap_[child]);
      at = child;
    }
    put(at, item);
  }

  std::vector<Item> heap_;
  std::vector<std::uint32_t> place_;
};

}  // namespace weft::detail
