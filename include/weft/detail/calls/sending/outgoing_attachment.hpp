// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/base/run_cursor.hpp"
#include "weft/detail/calls/terms/attachment_view.hpp"
#include "weft/detail/calls/terms/left_marks.hpp"
#include "weft/detail/transport/outbox.hpp"

namespace weft::detail {

class FrameOutput;

/// Memory of an attachment on its way to an outbox: how much has been queued, and how much the connection
/// still reads. Must not move while any of it is lent. Thread: the connection's loop.
class OutgoingAttachment : private SendLease {
 public:
  OutgoingAttachment() = default;
  explicit OutgoingAttachment(AttachmentView memory) : memory_(memory), left_(memory.bytes()) {}
  OutgoingAttachment(const OutgoingAttachment&) = delete;
  OutgoingAttachment& operator=(const OutgoingAttachment&) = delete;

  /// Begins with `memory`. No part of the previous memory may be lent.
  void begin(AttachmentView memory) noexcept;
  /// `marks` are queued after each piece from now on, and belong to this attachment until the last is
  /// released.
  void mark_with(LeftMarks& marks) noexcept { marks_ = &marks; }
  /// A marker has left the outbox; `sent`: everything before it was sent. May destroy this.
  void on_mark_released(bool sent) noexcept {
    if (is_over()) on_returned(sent);
  }

  /// Its pieces are counted by markers, so all except the last must be equally long.
  bool is_marked() const noexcept { return has_marks(); }

  /// Returns true if pieces are copied instead of lent to `outbox`: the memory is shared, and the outbox adds
  /// checksums.
  bool is_copied_by(Outbox& outbox) const noexcept {
    return memory_.is_shared() && outbox.attachment().has_checksums();
  }
  std::size_t bytes_left() const noexcept { return left_; }
  /// Queues the next `bytes` of the rest. Returns false when memory is exhausted: queued bytes stay lent, and
  /// the connection cannot be used any more.
  bool queue(Outbox& outbox, std::size_t bytes) noexcept;
  /// Inserts `runs` of the caller's body before the attachment, into the frame that was queued last.
  void put_runs_in(FrameOutput& output, const LentRuns& runs) noexcept;
  /// Number of bytes of such runs that were inserted.
  std::size_t runs_bytes() const noexcept { return runs_bytes_; }
  /// The connection still reads some of the attachment, or of the body's runs.
  bool is_lent() const noexcept { return leases_ != 0; }
  /// The attachment is at the front of the outbox, so a device may be reading it.
  bool leads(const Outbox& outbox) const noexcept { return outbox.leads(*this); }
  /// Everything has been queued, nothing is lent, and no marker is queued.
  bool is_over() const noexcept { return leases_ == 0 && left_ == 0 && (!has_marks() || !marks_->is_lent()); }
  /// Queues no more of it. Returns true when nothing is lent and no marker is queued; otherwise
  /// on_returned() follows.
  bool give_up() noexcept {
    left_ = 0;
    return is_over();
  }
  /// Copies the unsent bytes in the outbox, so that it is no longer lent. Returns false when there is
  /// no memory for the copy. Nothing more is queued afterwards.
  bool take_over(Outbox& outbox) noexcept;

 protected:
  ~OutgoingAttachment() = default;

  /// Nothing of the memory is lent any more and no marker is queued, possibly only for now; `sent`: the last
  /// byte was sent. May destroy this.
  virtual void on_returned(bool sent) noexcept { static_cast<void>(sent); }

 private:
  bool copy(Outbox& outbox, std::size_t bytes) noexcept;
  void on_released(bool sent) noexcept final;
  /// Its markers may have been given to another attachment meanwhile.
  bool has_marks() const noexcept { return marks_ != nullptr && marks_->belong_to(*this); }

  /// Position of the next byte.
  RunCursor<const std::byte> memory_;
  /// Null unless the owner wants to know how much has been sent.
  LeftMarks* marks_ = nullptr;
  std::size_t left_ = 0;
  std::uint32_t leases_ = 0;
  std::size_t runs_bytes_ = 0;
};

}  // namespace weft::detail
