// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/budget.hpp"

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

MemoryBudget::~MemoryBudget() {
  WEFT_ASSERT(used() == 0, "a memory budget was destroyed while bytes of it are still reserved");
}

bool MemoryBudget::try_reserve(std::size_t bytes) noexcept {
  if (!try_take(bytes)) return false;
  if (parent_ == nullptr || parent_->try_reserve(bytes)) return true;
  give_back(bytes);
  return false;
}

void MemoryBudget::release(std::size_t bytes) noexcept {
  // The parent first: room in the child implies room in the parent.
  if (parent_ != nullptr) parent_->release(bytes);
  give_back(bytes);
}

bool MemoryBudget::try_take(std::size_t bytes) noexcept {
  std::size_t before = used_.load(std::memory_order_relaxed);
  do {
    if (bytes > limit_ - before) return false;
  } while (!used_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  return true;
}

void MemoryBudget::give_back(std::size_t bytes) noexcept {
  const std::size_t before = used_.fetch_sub(bytes, std::memory_order_relaxed);
  WEFT_ASSERT(before >= bytes, "more was released than was reserved");
}

}  // namespace weft::detail
