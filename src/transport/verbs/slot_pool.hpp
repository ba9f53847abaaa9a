// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "transport/verbs/counted_bytes.hpp"
#include "weft/detail/verbs/memory.hpp"

namespace weft::detail::verbs_carrier {

/// Registered memory of one size, cut out of blocks that are registered one at a time, within a budget. Each
/// use has a pool of its own, so that none can starve another. Thread: its loop's.
class SlotPool {
 public:
  struct Limits {
    std::size_t slot_bytes = 0;
    std::size_t block_bytes = 0;
    std::size_t bytes_max = 0;
    CountedBytes::Total counted_in{};
  };
  /// A piece of registered memory. Its index is the pool's name for it.
  struct Slot {
    std::byte* data = nullptr;
    std::uint32_t lkey = 0;
    std::uint32_t index = 0;

    explicit operator bool() const noexcept { return data != nullptr; }
  };

  SlotPool(std::shared_ptr<verbs::ProtectionDomain> domain, const Limits& limits) noexcept
      : domain_(std::move(domain)),
        limits_(limits),
        slots_per_block_(
            static_cast<std::uint32_t>(std::max<std::size_t>(1, limits.block_bytes / limits.slot_bytes))) {}
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  /// Empty when the budget is used up, or the system gives no more; no_memory() then says which.
  Slot acquire() noexcept;
  void release(std::uint32_t index) noexcept;
  Slot at(std::uint32_t index) const noexcept;

  const std::shared_ptr<verbs::ProtectionDomain>& domain() const noexcept { return domain_; }
  std::size_t slot_bytes() const noexcept { return limits_.slot_bytes; }
  /// Registered now, and of that, in use.
  std::size_t registered_bytes() const noexcept { return registered_; }
  std::size_t blocks() const noexcept { return blocks_in_use_; }
  /// Returns the number of slots in as many whole blocks as `slots` need.
  std::size_t in_whole_blocks(std::size_t slots) const noexcept {
    return (slots + slots_per_block_ - 1) / slots_per_block_ * slots_per_block_;
  }
  /// acquire() needs to register nothing.
  bool has_free() const noexcept { return out_ < blocks_in_use_ * slots_per_block_; }
  /// Returns the error for a request that got no slot. `what` names the purpose.
  Status no_memory(const char* what) const;

 private:
  struct Block {
    std::unique_ptr<verbs::MemoryRegion> region;
    std::size_t out = 0;
    std::vector<std::uint32_t> free;
  };

  Block* block_with_room() noexcept;
  bool make_block(Block& block, std::size_t index) noexcept;

  const std::shared_ptr<verbs::ProtectionDomain> domain_;
  const Limits limits_;
  /// Divided by for each message that comes, so as few bits as will do.
  const std::uint32_t slots_per_block_;
  std::vector<Block> blocks_;
  /// No block before it has room.
  std::size_t first_with_room_ = 0;
  std::size_t blocks_in_use_ = 0;
  CountedBytes registered_{limits_.counted_in};
  std::size_t idle_blocks_ = 0;
  std::size_t out_ = 0;
  Status refusal_;
};

}  // namespace weft::detail::verbs_carrier
