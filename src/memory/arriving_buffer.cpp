// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/arriving_buffer.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <utility>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Large pages are faulted and freed hundreds of times faster than the same memory in small ones. Optional: it
// does not matter if the system has none.
void prefer_large_pages(MutableBytes memory) noexcept {
  const auto begin = (reinterpret_cast<std::uintptr_t>(memory.data()) + kHugePage - 1) & ~(kHugePage - 1);
  const auto end = reinterpret_cast<std::uintptr_t>(memory.data() + memory.size()) & ~(kHugePage - 1);
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

}  // namespace

// A written byte occupies a whole page. So large pages are used only where enough has arrived already: the
// memory taken is at most twice the charge.
bool ArrivingBuffer::charge(std::size_t bytes) noexcept {
  if (bytes <= charged_) return true;
  if (!budget_->try_reserve(bytes - charged_)) return false;
  if (charged_ < kHugePage && bytes >= kHugePage) prefer_large_pages(memory_.mutable_bytes().subspan(bytes));
  charged_ = bytes;
  return true;
}

Result<Buffer> ArrivingBuffer::take() {
  WEFT_ASSERT(charged_ == memory_.size(), "a buffer is taken when all of it has been charged");
  charged_ = 0;
  return Buffer::charged(std::move(memory_), std::move(budget_));
}

void ArrivingBuffer::swap(ArrivingBuffer& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(budget_, other.budget_);
  std::swap(charged_, other.charged_);
}

// The memory first, so that the budget never shows room that is not there.
void ArrivingBuffer::drop() noexcept {
  memory_ = Buffer{};
  if (charged_ != 0) budget_->release(std::exchange(charged_, 0));
}

}  // namespace weft::detail
