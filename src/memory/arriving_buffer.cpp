// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/memory/arriving_buffer.hpp"

#include <utility>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

bool ArrivingBuffer::charge(std::size_t bytes) noexcept {
  if (bytes <= charged_) return true;
  if (!budget_->try_reserve(bytes - charged_)) return false;
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
