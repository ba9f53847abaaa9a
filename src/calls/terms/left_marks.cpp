// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/terms/left_marks.hpp"

#include <algorithm>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/calls/sending/outgoing_attachment.hpp"
#include "weft/detail/calls/terms/transfer_progress.hpp"

namespace weft::detail {

void LeftMarks::begin(OutgoingAttachment& attachment, std::uint64_t bytes,
                      TransferProgress* progress) noexcept {
  WEFT_ASSERT(!is_lent(), "marks begin when none of the last attachment's stands");
  attachment_ = &attachment;
  progress_ = progress;
  bytes_left_ = bytes;
  piece_ = 0;
  attachment.mark_with(*this);
}

bool LeftMarks::append(Outbox& outbox, std::size_t bytes) noexcept {
  piece_ = std::max(piece_, bytes);
  ++standing_;
  if (outbox.append_leased({}, *this)) return true;
  --standing_;
  return false;
}

void LeftMarks::on_released(bool sent) noexcept {
  --standing_;
  if (sent) {
    const std::uint64_t piece = std::min<std::uint64_t>(piece_, bytes_left_);
    bytes_left_ -= piece;
    if (progress_ != nullptr) progress_->count_sent(piece);
  }
  attachment_->on_mark_released(sent);
}

}  // namespace weft::detail
