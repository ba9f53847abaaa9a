// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Attachment of a request where it was received, which counts as one that is kept. Thread: the budget's.
class ReceivedAttachment {
 public:
  ReceivedAttachment() = default;
  /// `bytes` stay as long as this has them. So many were reserved in `budget`, which outlives this.
  ReceivedAttachment(Bytes bytes, LocalBudget& budget) noexcept
      : bytes_(bytes), shown_(bytes), budget_(&budget) {}
  ReceivedAttachment(ReceivedAttachment&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), shown_(other.shown_), budget_(other.budget_) {}
  ReceivedAttachment& operator=(ReceivedAttachment&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(shown_, other.shown_);
    std::swap(budget_, other.budget_);
    return *this;
  }
  ~ReceivedAttachment() {
    if (!bytes_.empty()) budget_->release(bytes_.size());
  }

  bool empty() const noexcept { return bytes_.empty(); }
  Bytes bytes() const noexcept { return bytes_; }
  /// Bytes that were here before take(), which stay as long as this.
  Bytes shown() const noexcept { return shown_; }
  /// Gives a copy, which counts in place of this; this is empty then. Throws std::bad_alloc.
  Buffer take();

 private:
  Bytes bytes_;
  Bytes shown_;
  LocalBudget* budget_ = nullptr;
};

}  // namespace weft::detail
