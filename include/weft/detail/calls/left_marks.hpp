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

/// Marks that stand in an outbox behind each piece of an attachment whose owner wants to know what has left:
/// of what is copied no lease tells that. They count the pieces, all of which but the last are equally long.
/// Stays where it is while any of them stands. Thread: the connection's loop.
class LeftMarks final : private SendLease {
 public:
  LeftMarks() = default;
  LeftMarks(const LeftMarks&) = delete;
  LeftMarks& operator=(const LeftMarks&) = delete;

  /// Begins with the `bytes` of `attachment`; tells `progress`, which may be null.
  void begin(OutgoingAttachment& attachment, std::uint64_t bytes, TransferProgress* progress) noexcept;
  /// Sets one behind the next piece, which has `bytes` and was just queued. False when memory is out.
  bool append(Outbox& outbox, std::size_t bytes) noexcept;
  bool belong_to(const OutgoingAttachment& attachment) const noexcept { return attachment_ == &attachment; }
  /// Some stand in the outbox.
  bool is_lent() const noexcept { return standing_ != 0; }
  /// None stands in `outbox` afterwards; needs no memory.
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
