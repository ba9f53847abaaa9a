// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/budget.hpp"

namespace weft::detail {

/// The encoded answer of one call on its way to the call's loop. An answer made on another thread is charged
/// to the budget before its memory is allocated and until the loop takes it, because other threads may
/// produce answers faster than the loop sends them. The text of a failure that replaces the answer is charged
/// in the same way. Thread: one at a time.
class AnswerBody {
 public:
  AnswerBody() = default;
  AnswerBody(AnswerBody&& other) noexcept
      : memory_(std::move(other.memory_)),
        size_(std::exchange(other.size_, 0)),
        charged_in_(std::exchange(other.charged_in_, nullptr)),
        charged_(other.charged_) {}
  AnswerBody& operator=(AnswerBody other) noexcept {
    std::swap(memory_, other.memory_);
    std::swap(size_, other.size_);
    std::swap(charged_in_, other.charged_in_);
    std::swap(charged_, other.charged_);
    return *this;
  }
  ~AnswerBody() { end_charge(); }

  /// Allocates `bytes`, not zeroed, and charges them to `budget`, which may be null and otherwise must
  /// outlive this. Call once. Returns false when the budget is exhausted; throws std::bad_alloc.
  bool make(std::size_t bytes, MemoryBudget* budget);
  /// Charges `bytes` that are stored elsewhere, instead of memory from make(). Returns false when the budget
  /// is exhausted, and charges nothing then.
  bool charge_in_place(std::size_t bytes, MemoryBudget& budget) noexcept;
  std::byte* data() noexcept { return memory_.get(); }
  Bytes bytes() const noexcept { return {memory_.get(), size_}; }
  /// Ends this object's charge: another object charges the memory or the text from now on.
  void end_charge() noexcept {
    if (charged_in_ != nullptr) std::exchange(charged_in_, nullptr)->release(charged_);
  }

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::size_t size_ = 0;
  MemoryBudget* charged_in_ = nullptr;
  std::size_t charged_ = 0;
};

}  // namespace weft::detail
