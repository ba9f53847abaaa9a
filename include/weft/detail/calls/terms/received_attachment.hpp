// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/memory/buffer.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

/// Attachment of a request in the memory where it was received, charged like a kept one. Thread: the
/// budget's.
class ReceivedAttachment {
 public:
  ReceivedAttachment() = default;
  /// `bytes` stay valid as long as this object. The same amount was reserved in `budget`, which outlives
  /// this.
  ReceivedAttachment(Bytes bytes, LocalBudget& budget) noexcept : bytes_(bytes), budget_(&budget) {}
  ReceivedAttachment(ReceivedAttachment&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), budget_(std::exchange(other.budget_, nullptr)) {}
  ReceivedAttachment& operator=(ReceivedAttachment&& other) noexcept {
    std::swap(bytes_, other.bytes_);
    std::swap(budget_, other.budget_);
    return *this;
  }
  ~ReceivedAttachment() {
    if (budget_ != nullptr) budget_->release(bytes_.size());
  }

  bool empty() const noexcept { return bytes().empty(); }
  Bytes bytes() const noexcept { return budget_ != nullptr ? bytes_ : Bytes{}; }
  /// Returns a copy, which takes over the charge; this is empty afterwards. Throws std::bad_alloc.
  Buffer take();
  /// The bytes, valid as long as this object, even after take().
  Bytes shown() const noexcept { return bytes_; }

 private:
  Bytes bytes_;
  /// Null when there is no attachment, or it was taken.
  LocalBudget* budget_ = nullptr;
};

}  // namespace weft::detail
