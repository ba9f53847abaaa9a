// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/buffer.hpp"

#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/coro/frame_pool.hpp"

namespace weft {

namespace {

struct SharingBudget {
  std::shared_ptr<detail::MemoryBudget> budget;
  Buffer buffer;  // destroyed before its reservation
};

void end_sharing(void* object) noexcept {
  delete static_cast<SharingBudget*>(object);
}

/// Header in front of the bytes of a short block, with their count.
struct ShortBlock {
  std::shared_ptr<detail::MemoryBudget> budget;
  std::size_t bytes = 0;
  bool is_counted = true;
};

void end_short_block(void* object) noexcept {
  auto* const block = static_cast<ShortBlock*>(object);
  const std::size_t bytes = block->bytes;
  const std::shared_ptr<detail::MemoryBudget> budget = block->is_counted ? std::move(block->budget) : nullptr;
  block->~ShortBlock();
  detail::release_frame(block, sizeof(ShortBlock) + bytes);
  if (budget != nullptr) budget->release(bytes);
}

void free_plain(void* memory) noexcept {
  ::operator delete(memory);
}

template <typename Container>
Buffer adopt_container(Container container) {
  auto* owner = new Container(std::move(container));
  return Buffer::adopt({reinterpret_cast<std::byte*>(owner->data()), owner->size()}, owner,
                       [](void* object) noexcept { delete static_cast<Container*>(object); });
}

Status memory_out(std::size_t size) {
  return {StatusCode::kResourceExhausted, Layer::kRuntime,
          [&] { return "no memory for " + std::to_string(size) + " bytes"; }};
}

Status budget_out(std::size_t size, const detail::MemoryBudget& budget) {
  return {StatusCode::kResourceExhausted, Layer::kRuntime, [&] {
            return std::to_string(size) + " bytes do not fit the memory budget of " +
                   std::to_string(budget.limit()) + " bytes (" + std::to_string(budget.used()) +
                   " used) or one above it";
          }};
}

/// `buffer`, which keeps the budget that it counts in.
Result<Buffer> keep_budget(Buffer buffer, std::shared_ptr<detail::MemoryBudget> budget) {
  const MutableBytes memory = buffer.mutable_bytes();
  auto* owner = new (std::nothrow) SharingBudget{std::move(budget), {}};
  if (owner == nullptr) {
    buffer = Buffer{};  // before its budget
    return memory_out(memory.size());
  }
  owner->buffer = std::move(buffer);
  return Buffer::adopt(memory, owner, &end_sharing);
}

}  // namespace

Result<Buffer> Buffer::try_allocate(std::size_t size, detail::MemoryBudget* budget) {
  if (size == 0) return Buffer{};
  if (budget != nullptr && !budget->try_reserve(size)) return budget_out(size, *budget);
  const bool possible = size <= static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max());
  void* memory = possible ? ::operator new(size, std::nothrow) : nullptr;
  if (memory == nullptr) {
    if (budget != nullptr) budget->release(size);
    return memory_out(size);
  }
  Buffer buffer = adopt({static_cast<std::byte*>(memory), size}, memory, &free_plain);
  buffer.budget_ = budget;
  return buffer;
}

Result<Buffer> Buffer::try_allocate(std::size_t size, std::shared_ptr<detail::MemoryBudget> budget) {
  Result<Buffer> plain = try_allocate(size, budget.get());
  if (!plain.ok() || plain->empty() || budget == nullptr) return plain;
  return keep_budget(std::move(*plain), std::move(budget));
}

Result<Buffer> Buffer::counted(Buffer buffer, std::shared_ptr<detail::MemoryBudget> budget) {
  if (buffer.empty() || budget == nullptr) return buffer;
  WEFT_ASSERT(buffer.budget_ == nullptr, "a buffer counts in one budget");
  if (!budget->try_reserve(buffer.size())) return budget_out(buffer.size(), *budget);
  return charged(std::move(buffer), std::move(budget));
}

Result<Buffer> Buffer::charged(Buffer buffer, std::shared_ptr<detail::MemoryBudget> budget) {
  buffer.budget_ = budget.get();
  return keep_budget(std::move(buffer), std::move(budget));
}

Buffer Buffer::short_block(std::size_t size, std::shared_ptr<detail::MemoryBudget> budget) {
  void* const memory = detail::allocate_frame(sizeof(ShortBlock) + size);
  auto* const block = new (memory) ShortBlock{std::move(budget), size};
  return adopt({reinterpret_cast<std::byte*>(block + 1), size}, block, &end_short_block);
}

Buffer Buffer::copy_of(Bytes bytes) {
  if (bytes.empty()) return {};
  void* memory = ::operator new(bytes.size());
  std::memcpy(memory, bytes.data(), bytes.size());
  return adopt({static_cast<std::byte*>(memory), bytes.size()}, memory, &free_plain);
}

Buffer Buffer::adopt(std::vector<std::byte> bytes) {
  return adopt_container(std::move(bytes));
}

Buffer Buffer::adopt(std::string text) {
  return adopt_container(std::move(text));
}

Buffer Buffer::adopt(MutableBytes memory, void* owner, void (*release)(void* owner) noexcept) {
  Buffer buffer;
  buffer.memory_ = memory;
  buffer.owner_ = owner;
  buffer.release_ = release;
  return buffer;
}

void Buffer::leave_budget() noexcept {
  if (release_ == &end_sharing) return static_cast<SharingBudget*>(owner_)->buffer.leave_budget();
  if (release_ == &end_short_block) {
    auto* const block = static_cast<ShortBlock*>(owner_);
    if (std::exchange(block->is_counted, false)) block->budget->release(block->bytes);
    return;
  }
  if (budget_ != nullptr) std::exchange(budget_, nullptr)->release(memory_.size());
}

void Buffer::release() noexcept {
  if (release_ != nullptr) release_(owner_);
  // After the memory is really gone, so that a budget never shows room that is not there.
  if (budget_ != nullptr) budget_->release(memory_.size());
}

}  // namespace weft
