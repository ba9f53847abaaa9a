// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "weft/detail/base/result.hpp"
#include "weft/detail/memory/budget.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::detail {

/// A Buffer that is being filled from outside. It counts in a budget as far as it is filled: what a peer
/// announced takes addresses and no memory, and denies nobody anything.
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

  /// Charges the first `bytes` of it, those that were charged before included; or nothing, when the budget is
  /// out.
  bool charge(std::size_t bytes) noexcept;
  /// Gives the Buffer, all of which was charged; it counts until its end. Errors: kResourceExhausted when
  /// memory is out; it is gone then.
  Result<Buffer> take();

 private:
  void swap(ArrivingBuffer& other) noexcept;
  void drop() noexcept;

  Buffer memory_;
  std::shared_ptr<MemoryBudget> budget_;
  std::size_t charged_ = 0;
};

}  // namespace weft::detail
