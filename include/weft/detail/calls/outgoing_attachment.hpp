// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/base/run_cursor.hpp"
#include "weft/detail/calls/attachment_view.hpp"
#include "weft/detail/calls/left_marks.hpp"
#include "weft/detail/transport/outbox.hpp"

namespace weft::detail {

class FrameOutput;

/// Memory of an attachment on its way into an outbox: how far it was queued, and how much of it the
/// connection still reads. It stays where it is while anything of it is lent. Thread: the connection's loop.
class OutgoingAttachment : private SendLease {
 public:
  OutgoingAttachment() = default;
  explicit OutgoingAttachment(AttachmentView memory) : memory_(memory), left_(memory.bytes()) {}
  OutgoingAttachment(const OutgoingAttachment&) = delete;
  OutgoingAttachment& operator=(const OutgoingAttachment&) = delete;

  /// Begins with `memory`. Nothing of what it had before is lent.
  void begin(AttachmentView memory) noexcept;
  /// `marks` stand behind what is queued of it from now on, and belong to it until the last is released.
  void mark_with(LeftMarks& marks) noexcept { marks_ = &marks; }
  /// One of its marks is not in the outbox any more; `sent`: all before it has left. May destroy it.
  void on_mark_released(bool sent) noexcept {
    if (is_over()) on_returned(sent);
  }

  /// Its pieces are counted by marks, so all but the last have to be equally long.
  bool is_marked() const noexcept { return has_marks(); }

  /// Nothing of it is lent to `outbox`: it is shared memory, and what is queued there has a checksum.
  bool is_copied_by(Outbox& outbox) const noexcept {
    return memory_.is_shared() && outbox.attachment().has_checksums();
  }
  std::size_t bytes_left() const noexcept { return left_; }
  /// Queues the next `bytes`, of those that are left. False when memory is out: what was queued stays lent,
  /// and the connection is of no further use.
  bool queue(Outbox& outbox, std::size_t bytes) noexcept;
  /// Puts `runs` of the body before it, which the caller has too, into the frame that was queued last.
  void put_runs_in(FrameOutput& output, const LentRuns& runs) noexcept;
  /// Bytes of such runs that are put in, or were.
  std::size_t runs_bytes() const noexcept { return runs_bytes_; }
  /// The connection still reads some of it, or of the body's runs.
  bool is_lent() const noexcept { return leases_ != 0; }
  /// It comes first of all that is to be sent, so a device may be reading it.
  bool leads(const Outbox& outbox) const noexcept { return outbox.leads(*this); }
  /// Nothing of it is to come, nothing of it is lent, and no mark of it stands.
  bool is_over() const noexcept { return leases_ == 0 && left_ == 0 && (!has_marks() || !marks_->is_lent()); }
  /// Nothing more of it is queued. True when nothing of it is lent, nor a mark stands; otherwise
  /// on_returned() follows.
  bool give_up() noexcept {
    left_ = 0;
    return is_over();
  }
  /// Copies what the outbox has of it and has not sent, so that nothing of it is lent. False when memory for
  /// the copy is out. Nothing more is queued afterwards.
  bool take_over(Outbox& outbox) noexcept;

 protected:
  ~OutgoingAttachment() = default;

  /// Nothing of it is lent any more, nor does a mark of it stand, for now or for ever; `sent`: the last of it
  /// left for the peer. May destroy it.
  virtual void on_returned(bool sent) noexcept { static_cast<void>(sent); }

 private:
  bool copy(Outbox& outbox, std::size_t bytes) noexcept;
  void on_released(bool sent) noexcept final;
  /// Its marks may have been given to another attachment meanwhile.
  bool has_marks() const noexcept { return marks_ != nullptr && marks_->belong_to(*this); }

  /// The place of the byte that comes next.
  RunCursor<const std::byte> memory_;
  /// Null when nobody wants to know what has left.
  LeftMarks* marks_ = nullptr;
  std::size_t left_ = 0;
  std::uint32_t leases_ = 0;
  std::size_t runs_bytes_ = 0;
};

}  // namespace weft::detail
