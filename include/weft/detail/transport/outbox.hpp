// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/lent_runs.hpp"
#include "weft/detail/base/run_cursor.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/transport/connection_counters.hpp"
#include "weft/detail/transport/early_sends.hpp"
#include "weft/detail/transport/lease_policy.hpp"
#include "weft/detail/transport/queued_attachment.hpp"
#include "weft/detail/transport/queued_pieces.hpp"

namespace weft::detail {

/// Memory that a connection reads from until it gives it back. The object is an operation record: it, and the
/// bytes it stands for, stay where they are until on_released was called, exactly once per lease.
class SendLease {
 public:
  /// `sent`: the bytes left for the peer; otherwise the connection ended or the outbox made its own copy.
  /// May queue more; must neither destroy the connection nor resume a coroutine: it schedules one.
  virtual void on_released(bool sent) noexcept = 0;

 protected:
  ~SendLease() = default;
};

/// Sender of the bytes that an outbox holds.
class OutboxDrain {
 public:
  /// Something is queued where nothing was that the carrier has not begun. The frame may still be being
  /// written: it is for later, at the end of the turn.
  virtual void on_queued() noexcept = 0;
  /// Called when enough is queued (see EarlySends), or when the queue must be sent now, and every queued
  /// frame is whole: the callee may send and consume at once.
  virtual void on_much_queued() noexcept = 0;
  /// Called when leased memory must be returned: after the return, no segment from segments() is read any
  /// more. May consume bytes that have left.
  virtual void on_take_back() noexcept = 0;

 protected:
  ~OutboxDrain() = default;
};

/// Queue of the bytes that a connection is to send, in order: frames encoded straight into chunks, and
/// leased memory between them. A concrete class that looks up only when it has to, so that queueing a frame
/// is no virtual call. Thread: the connection's loop.
///
/// The transport drains it from the front: segments() gathers, consume() gives back. Holds no chunk while
/// empty.
class Outbox {
 public:
  /// See EarlySends for `few_frames_bytes`. `drain` may be null.
  explicit Outbox(ChunkPool& chunks, OutboxDrain* drain = nullptr, LeasePolicy policy = LeasePolicy{},
                  std::size_t few_frames_bytes = 0) noexcept
      : chunks_(chunks), drain_(drain), policy_{policy, EarlySends{few_frames_bytes}} {}
  ~Outbox() { drop_all(); }  // releases every lease with sent = false
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Returns room for a frame, or a hello: exactly `bytes` contiguous bytes, 8-aligned, which the caller
  /// fills before any other call; this call queues them. `bytes` is a multiple of 8. Null when memory is
  /// exhausted. May send bytes queued before.
  std::byte* append(std::size_t bytes) noexcept {
    if (bytes > static_cast<std::size_t>(limit_ - cursor_)) [[unlikely]] {
      // All queued frames are whole now, and may leave before this frame begins. Not so before an attachment:
      // frames that a lease's owner queues in on_released() would come between the frame and its attachment.
      tell_much();
      if (!make_room(bytes, 0)) return nullptr;
    }
    std::byte* at = cursor_;
    cursor_ += bytes;
    ++frames_;
    return at;
  }
  /// Takes back what the last append() queued, at `at`, before anything else was called.
  void take_back(std::byte* at) noexcept;
  /// Queues `bytes` of leased memory: an attachment, of any length. It may be queued in pieces, each with its
  /// own lease; all but the last set `more_follows`, and nothing else comes between them. Padding and
  /// checksum of the last piece are queued here, not by the caller. Small pieces are copied (the lease is
  /// then released at once, sent = false is never reported for it), and their checksum is that of the copy. A
  /// large attachment is sent as soon as it is whole. Returns false when memory is exhausted; nothing was
  /// queued then.
  bool append_leased(Bytes bytes, SendLease& lease, bool more_follows = false) noexcept;
  /// Queues, as append_leased() does, all of an attachment that is short enough to be copied, right behind
  /// its frame: the next `bytes` behind `from`, one or more, which are not lent. Passes them in `from`.
  bool append_copied(RunCursor<const std::byte>& from, std::size_t bytes) noexcept;
  /// The policy that decides which leased memory is copied, and which is worth append_gathered().
  const LeasePolicy& lease_policy() const noexcept { return policy_.leases; }
  /// Does as append_leased(), for runs within the next `bytes` of `from` that are worth gathering, with one
  /// lease, as decided by lease_policy(). Advances `from`, and returns the number of bytes queued; more of
  /// the attachment follows if that is not all. Returns 0, with nothing queued, when memory is exhausted.
  std::size_t append_gathered(RunCursor<const std::byte>& from, std::size_t bytes, SendLease& lease) noexcept;
  /// Inserts `runs` at their places into the frame that was appended last, without a copy. Call it when the
  /// rest of the frame is written, before any other function. The runs lie either in `chunk` or in memory of
  /// `lease`, which is then used once for each run; the other one is null. With `more_follows` an attachment
  /// is next; otherwise a large amount is sent at once. Returns false, with nothing inserted, when memory is
  /// exhausted: the frame cannot be completed, and the connection cannot be used any more.
  bool put_in(const LentRuns& runs, SendLease* lease, const ChunkRef& chunk, bool more_follows) noexcept;
  /// Sends the queued frames, which are whole, now, as far as the carrier accepts them.
  void send_now() noexcept {
    if (!empty() && !giving_back_ && drain_ != nullptr) drain_->on_much_queued();
  }
  /// Copies the unsent bytes of `lease`, so that its owner may end; calls on_released(false) before it
  /// returns. Returns false, and keeps the lease, when memory is exhausted. Returns true also for a lease
  /// that is not queued any more.
  bool take_over(SendLease& lease) noexcept;
  /// `lease` comes first, or a carrier has begun it, so its memory may be read in place now.
  bool leads(const SendLease& lease) const noexcept;

  std::size_t queued_bytes() const noexcept {
    return sealed_bytes_ + static_cast<std::size_t>(cursor_ - open_begin_);
  }
  /// Returns the memory kept for the queue, once `more` bytes are queued: whole chunks, however little is in
  /// them. Leased memory belongs to its owner.
  std::size_t held_bytes(std::size_t more = 0) const noexcept;
  bool empty() const noexcept { return queued_bytes() == 0; }
  /// Position in the byte stream of the next queued byte: the number of bytes queued so far.
  std::uint64_t position() const noexcept { return reinterpret_cast<std::uintptr_t>(cursor_) - origin_; }
  /// Position up to which a carrier was given bytes: of those from there on the peer has seen none. After
  /// release_all(), which nothing may leave after, it stays where it is.
  std::uint64_t handed_over() const noexcept { return std::max(counters_.bytes.get(), begun_bytes_); }
  /// Counters of sent bytes and frames. Thread: any.
  const SendCounters& counters() const noexcept { return counters_; }

  // From here on: for the transport.

  /// The turn is over.
  void expect_little() noexcept { policy_.early_sends.expect_little(); }
  /// The same as for a new one from now on. At a turn's beginning.
  void suit(LeasePolicy policy, std::size_t few_frames_bytes) noexcept {
    policy_ = {policy, EarlySends{few_frames_bytes}};
  }
  /// Returns how many bytes at the beginning of what segments() gives are one leased piece, which is several
  /// runs where it is gathered; 0 when they are not leased.
  std::size_t leased_front() const noexcept {
    const std::uint32_t index = pieces_.first_with_bytes();
    return index == pieces_.size() || pieces_[index].lease == nullptr ? 0 : pieces_[index].size;
  }
  /// State of the attachment that is being queued, which knows whether there are checksums.
  QueuedAttachment& attachment() noexcept { return attachment_; }
  /// Fills `into` with the front of the queue, and returns the number of entries. Valid until the next call.
  std::size_t segments(std::span<iovec> into) const noexcept;
  /// Records that a carrier has started the first `bytes` of the queue: they count as handed over, although
  /// still queued. If that is all, the next queued frame is announced (OutboxDrain::on_queued()) as if the
  /// queue were empty.
  void note_begun(std::size_t bytes) noexcept {
    begun_bytes_ = std::max(begun_bytes_, counters_.bytes.get() + bytes);
    if (handed_over() == position()) limit_ = cursor_;
  }
  /// Records that the first `bytes` of the queue have left: releases their memory, in order.
  void consume(std::size_t bytes) noexcept;
  /// Releases every lease with sent = false; nothing may leave afterwards. Bytes in chunks stay queued.
  void release_leases() noexcept;
  /// Drops everything, and nothing may leave afterwards; leases are released with sent = false.
  void release_all() noexcept;

 private:
  /// Habits that suit the carrier.
  struct Policy {
    LeasePolicy leases;
    EarlySends early_sends;
  };

  bool make_room(std::size_t bytes, std::size_t misalignment) noexcept;
  bool extend_limit(std::size_t bytes) noexcept;
  void tell_queued() noexcept;
  void tell_much() noexcept;
  // The next bytes that are queued go to `to`; its position in the byte stream is the same.
  void move_cursor(std::byte* to) noexcept {
    origin_ += reinterpret_cast<std::uintptr_t>(to) - reinterpret_cast<std::uintptr_t>(cursor_);
    cursor_ = to;
  }
  void seal() noexcept;
  void drop_all() noexcept;
  void seal_and_push(QueuedPiece piece, std::byte* next) noexcept;
  void drained() noexcept;

  ChunkPool& chunks_;
  OutboxDrain* const drain_;
  Policy policy_;
  // The queue consists of the sealed pieces, followed by the open one: the bytes [open_begin_, cursor_) of
  // open_chunk_. append() extends it up to limit_, and checks there whether enough is queued to send and
  // whether the chunk has more room. In chunks, addresses and positions in the byte stream are equal modulo
  // 8, so that frames are aligned after attachments of any length. origin_ is the address that position 0
  // would have in the open chunk, so that append() need not count.
  std::byte* cursor_ = nullptr;
  std::byte* limit_ = nullptr;
  std::byte* open_begin_ = nullptr;
  std::uint64_t origin_ = 0;
  std::size_t sealed_bytes_ = 0;
  SendCounters counters_;
  std::uint64_t begun_bytes_ = 0;
  ChunkRef open_chunk_;
  QueuedPieces pieces_;
  QueuedAttachment attachment_;
  /// Queued since bytes were last sent.
  std::int32_t frames_ = 0;
  // Memory is being given back: what a lease's owner queues meanwhile must not be sent from in there.
  bool giving_back_ = false;
};

}  // namespace weft::detail
