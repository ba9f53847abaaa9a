// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "weft/detail/memory/budget.hpp"

namespace weft::detail {

/// The encoded answer of one call on its way to the call's loop. One that is made on another thread is
/// charged from before there is memory for it until the loop takes it: other threads may be faster than the
/// loop. So is the text of a failure that takes its place. Thread: one at a time.
class AnswerBody {
 public:
  AnswerBody() = default;
  AnswerBody(AnswerBody&& other) noexcept
      : bytes_(std::move(other.bytes_)),
        charged_in_(std::exchange(other.charged_in_, nullptr)),
        charged_(other.charged_) {}
  AnswerBody& operator=(AnswerBody&&) = delete;
  ~AnswerBody() {
    if (charged_in_ != nullptr) end_charge();
  }

  /// Takes memory for `bytes`, charged in `budget`, which outlives it, unless that is null. Once. False when
  /// the budget has not as much; throws std::bad_alloc.
  bool make(std::size_t bytes, MemoryBudget* budget);
  /// Charges `bytes` that are kept elsewhere, in place of what was made. False when the budget has not as
  /// much; nothing is charged then.
  bool charge_in_place(std::size_t bytes, MemoryBudget& budget) noexcept;
  std::byte* data() { return bytes_.data(); }
  /// Gives the memory to whoever charges it from now on.
  std::vector<std::byte> take() &&;

 private:
  void end_charge() noexcept;

  std::vector<std::byte> bytes_;
  MemoryBudget* charged_in_ = nullptr;
  std::size_t charged_ = 0;
};

}  // namespace weft::detail
