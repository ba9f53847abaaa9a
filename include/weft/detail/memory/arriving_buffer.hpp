// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/base/result.hpp"
#include "weft/detail/memory/budget.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail {

/// A Buffer that is being filled from outside. The budget is charged only for the filled part: announced
/// bytes take address space but no memory, so a peer cannot use up the budget by announcements.
class ArrivingBuffer {
 public:
  ArrivingBuffer() = default;
  /// `memory` counts in no budget yet.
  ArrivingBuffer(Buffer memory, std::shared_ptr<MemoryBudget> budget) noexcept
      : memory_(std::move(memory)), budget_(std::move(budget)) {}
  ArrivingBuffer(ArrivingBuffer&& other) noexcept { swap(other); }
  ArrivingBuffer& operator=(ArrivingBuffer&& other) noexcept {
    ArrivingBuffer taken{std::move(other)};
    swap(taken);
    return *this;
  }
  ~ArrivingBuffer() { drop(); }

  bool empty() const noexcept { return memory_.empty(); }
  std::size_t size() const noexcept { return memory_.size(); }
  MutableBytes mutable_bytes() noexcept { return memory_.mutable_bytes(); }
  /// Bytes that count by now.
  std::size_t charged() const noexcept { return charged_; }

  /// Extends the charge to the first `bytes`, including bytes charged before. Charges nothing if the budget
  /// is exhausted.
  bool charge(std::size_t bytes) noexcept;
  /// Returns the Buffer, which must be charged completely and stays charged until its end. Errors:
  /// kResourceExhausted without memory; the bytes are lost then.
  Result<Buffer> take();

 private:
  void swap(ArrivingBuffer& other) noexcept;
  void drop() noexcept;

  Buffer memory_;
  std::shared_ptr<MemoryBudget> budget_;
  std::size_t charged_ = 0;
};

}  // namespace weft::detail
