// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/transport/outbox.hpp"

namespace weft {
class TransferProgress;
}  // namespace weft

namespace weft::detail {

class OutgoingAttachment;

/// Markers in an outbox, one after each piece of an attachment, for an owner that wants to know how much has
/// been sent; leases do not tell that for copied bytes. They count the pieces, which all have the same length
/// except for the last. The object must not move while markers are queued. Thread: the connection's loop.
class LeftMarks final : private SendLease {
 public:
  LeftMarks() = default;
  LeftMarks(const LeftMarks&) = delete;
  LeftMarks& operator=(const LeftMarks&) = delete;

  /// Begins with the `bytes` of `attachment`; reports to `progress`, which may be null.
  void begin(OutgoingAttachment& attachment, std::uint64_t bytes, TransferProgress* progress) noexcept;
  /// Queues a marker after the next piece, which has `bytes` and was just queued. Returns false when memory
  /// is exhausted.
  bool append(Outbox& outbox, std::size_t bytes) noexcept;
  bool belong_to(const OutgoingAttachment& attachment) const noexcept { return attachment_ == &attachment; }
  /// Returns true if markers are queued in the outbox.
  bool is_lent() const noexcept { return standing_ != 0; }
  /// Removes all markers from `outbox`; needs no memory.
  void take_back(Outbox& outbox) noexcept {
    while (is_lent()) outbox.take_over(*this);
  }

 private:
  void on_released(bool sent) noexcept override;

  OutgoingAttachment* attachment_ = nullptr;
  TransferProgress* progress_ = nullptr;
  std::uint64_t bytes_left_ = 0;
  std::size_t piece_ = 0;
  std::uint32_t standing_ = 0;
};

}  // namespace weft::detail
