// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/slot_pool.hpp"

#include <algorithm>
#include <new>
#include <string>

namespace weft::detail::verbs_carrier {

namespace {

// Registering takes long, so this many blocks without a slot in use are kept for the next rush.
constexpr std::size_t kIdleBlocksKept = 1;

}  // namespace

bool SlotPool::make_block(Block& block, std::size_t index) noexcept {
  const std::size_t slots = slots_per_block_;
  const std::size_t bytes = slots * slot_bytes();
  if (registered_bytes() + bytes > limits_.bytes_max) {
    refusal_ = {StatusCode::kResourceExhausted, Layer::kTransport, [&] {
                  return "the budget of registered memory is used up: " + std::to_string(limits_.bytes_max) +
                         " bytes";
                }};
    return false;
  }
  auto region = verbs::MemoryRegion::allocate(domain_, bytes);
  if (!region.ok()) {
    refusal_ = std::move(region).status();
    return false;
  }
  try {
    block.free.reserve(slots);
    block.region = std::make_unique<verbs::MemoryRegion>(*std::move(region));
  } catch (const std::bad_alloc&) {
    return false;
  }
  block.free.clear();
  for (std::size_t i = slots; i > 0; --i) {
    block.free.push_back(static_cast<std::uint32_t>(index * slots + i - 1));
  }
  ++blocks_in_use_;
  registered_ += bytes;
  ++idle_blocks_;
  return true;
}

// The fullest come first, as far as the order of the blocks has it, so that the last ones become idle.
SlotPool::Block* SlotPool::block_with_room() noexcept {
  for (; first_with_room_ < blocks_.size(); ++first_with_room_) {
    Block& block = blocks_[first_with_room_];
    if (block.region != nullptr && !block.free.empty()) return &block;
  }
  auto vacant = std::find_if(blocks_.begin(), blocks_.end(),
                             [](const Block& block) { return block.region == nullptr; });
  if (vacant == blocks_.end()) {
    try {
      blocks_.emplace_back();
    } catch (const std::bad_alloc&) {
      return nullptr;
    }
    vacant = blocks_.end() - 1;
  }
  const auto index = static_cast<std::size_t>(vacant - blocks_.begin());
  if (!make_block(*vacant, index)) return nullptr;
  first_with_room_ = index;
  return &*vacant;
}

SlotPool::Slot SlotPool::acquire() noexcept {
  Block* const block = block_with_room();
  if (block == nullptr) return {};
  const std::uint32_t index = block->free.back();
  block->free.pop_back();
  if (block->out++ == 0) --idle_blocks_;
  ++out_;
  return at(index);
}

Status SlotPool::no_memory(const char* what) const {
  if (!refusal_.ok()) return refusal_.with_context(what);
  return {StatusCode::kResourceExhausted, Layer::kTransport,
          [&] { return std::string{what} + ": memory is out"; }};
}

void SlotPool::release(std::uint32_t index) noexcept {
  const std::size_t place = index / slots_per_block_;
  Block& block = blocks_[place];
  block.free.push_back(index);
  first_with_room_ = std::min(first_with_room_, place);
  --out_;
  if (--block.out > 0) return;
  if (idle_blocks_ < kIdleBlocksKept) {
    ++idle_blocks_;
    return;
  }
  registered_ -= block.region->size();
  block.region.reset();
  --blocks_in_use_;
}

SlotPool::Slot SlotPool::at(std::uint32_t index) const noexcept {
  const verbs::Memory& memory = blocks_[index / slots_per_block_].region->memory();
  return {memory.data() + index % slots_per_block_ * slot_bytes(), memory.block()->registration()->lkey,
          index};
}

}  // namespace weft::detail::verbs_carrier
