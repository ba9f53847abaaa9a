// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/detail/runtime/fd_watch.hpp"

namespace weft::detail {

/// Names watches by tokens that are never the same twice: the slot in the lower half, the slot's generation
/// in the upper. An event that was fetched for a watch which is gone carries a token that names nothing any
/// more, even when another watch has the slot by then.
class WatchTable {
 public:
  std::uint64_t add(FdWatch& watch) {
    std::uint32_t index = free_;
    if (index == kNone) {
      index = static_cast<std::uint32_t>(slots_.size());
      slots_.emplace_back();
    } else {
      free_ = slots_[index].next_free;
    }
    slots_[index].watch = &watch;
    ++size_;
    return token_of(index);
  }

  void remove(std::uint64_t token) noexcept {
    const std::uint32_t index = index_of(token);
    slots_[index] = {.generation = slots_[index].generation + 1, .next_free = free_};
    free_ = index;
    --size_;
  }

  /// Null when the watch was removed.
  FdWatch* find(std::uint64_t token) const noexcept {
    const std::uint32_t index = index_of(token);
    return index < slots_.size() && token_of(index) == token ? slots_[index].watch : nullptr;
  }

  std::size_t size() const noexcept { return size_; }

  /// Calls `visit(FdWatch&)` on each; it may remove the one it is given.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (std::size_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].watch != nullptr) visit(*slots_[i].watch);
    }
  }

  static std::uint32_t index_of(std::uint64_t token) noexcept { return static_cast<std::uint32_t>(token); }

 private:
  static constexpr std::uint32_t kNone = 0xFFFF'FFFF;
  struct Slot {
    FdWatch* watch = nullptr;
    std::uint32_t generation = 0;
    std::uint32_t next_free = kNone;
  };

  std::uint64_t token_of(std::uint32_t index) const noexcept {
    return std::uint64_t{slots_[index].generation} << 32 | index;
  }

  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
  std::size_t size_ = 0;
};

}  // namespace weft::detail
