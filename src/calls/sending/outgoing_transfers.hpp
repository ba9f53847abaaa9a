// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "calls/sending/frame_output.hpp"
#include "calls/sending/piece_marks.hpp"
#include "calls/sending/transfer_pacing.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/sending/outgoing_transfer.hpp"
#include "weft/detail/calls/terms/pace.hpp"
#include "weft/detail/transport/connection.hpp"
#include "weft/detail/transport/outbox_source.hpp"

namespace weft::detail {

/// Attachments that are sent in pieces on one connection, in turns. The connection asks for a piece when
/// little else is queued, so that other frames pass between the pieces. While many answers wait here, with
/// many bytes, no more are created: see FrameOutput::crowd(). Thread: the connection's loop.
class OutgoingTransfers final : public OutboxSource {
 public:
  /// Both outlive it.
  OutgoingTransfers(Connection& connection, FrameOutput& output) noexcept
      : connection_(connection), output_(output) {}

  /// The peer supports pieces; `asks`: it can also ask for them. All attachments together are limited to
  /// `rate_max` bytes per second, if that is not zero.
  void allow(bool asks, std::uint64_t rate_max) noexcept {
    allowed_ = true;
    peer_asks_ = asks;
    rate_max_ = rate_max;
  }
  /// A transfer may wait until the peer asks for it.
  bool may_wait() const noexcept { return peer_asks_; }
  /// An attachment of this size is sent in pieces: it is longer than one.
  bool splits(std::uint64_t bytes) const noexcept {
    return allowed_ && bytes > connection_.capabilities().piece_bytes;
  }
  std::uint64_t rate_max() const noexcept { return rate_max_; }
  /// Returns the least rate at which an attachment of `bytes` is not taken for stalled by a peer with this
  /// `frame_timeout`.
  std::uint64_t least_rate(std::uint64_t bytes, Duration frame_timeout) const noexcept {
    return Pace::least(bytes, connection_.capabilities().piece_bytes, frame_timeout);
  }
  /// `transfer` belongs to a frame that was queued and that announced it; `loop` is the connection's.
  /// `announcing`: it was queued just now.
  void add(OutgoingTransfer& transfer, Loop& loop, bool announcing = true) noexcept;
  /// `transfer`, which is here, goes at no more than `rate` bytes a second from now on.
  void set_rate(OutgoingTransfer& transfer, std::uint64_t rate) noexcept;
  /// Nothing more of `transfer` is sent, if it is here.
  void remove(OutgoingTransfer& transfer) noexcept;
  /// The peer has received everything sent before the ping with this id. Returns false if the ping was not
  /// sent here.
  bool on_pong(std::uint64_t id) noexcept;
  /// A pong was queued: it belongs to no call, so pieces do not yield to it.
  void pong_queued() noexcept { connection_.pull_from(has_more() ? this : nullptr, 1); }
  /// The connection is gone.
  void drop_all() noexcept;

  std::size_t queue_piece(bool peer_answers) noexcept override;
  bool has_more() const noexcept override {
    return !waiting_.empty() || (pacing_ != nullptr && pacing_->has_resting());
  }

 private:
  /// Bytes that a transfer sends before the next one does. Consecutive pieces of the same memory stay in the
  /// caches of both sides, and other frames still pass between them.
  static constexpr std::uint32_t kTurnBytes = 1024 * 1024;

  bool make_pacing(Loop& loop) noexcept;
  /// Answers may be made until too many of them wait; items are held back by their streams' windows.
  static bool is_answer(const OutgoingTransfer& transfer) noexcept {
    return transfer.of_answer() && !transfer.of_item();
  }
  OutgoingTransfer* next() noexcept;
  std::size_t piece_of(OutgoingTransfer& transfer, bool is_long) const noexcept;
  void leave(OutgoingTransfer& transfer) noexcept;
  void look_whether_crowded() noexcept;

  Connection& connection_;
  FrameOutput& output_;
  IntrusiveList<OutgoingTransfer, OutgoingTransferTag> waiting_;
  /// Null until one has a rate.
  std::unique_ptr<TransferPacing> pacing_;
  /// Null until a piece was queued that could have been a long one.
  std::unique_ptr<PieceMarks> marks_;
  std::uint64_t rate_max_ = 0;
  /// The connection's, since there was a transfer.
  Loop* loop_ = nullptr;
  /// Bytes that the first transfer may still send before the next one has its turn.
  std::uint32_t turn_left_ = kTurnBytes;
  /// Number of waiting answers, and of their unsent bytes.
  std::uint32_t answers_ = 0;
  std::uint64_t answer_bytes_ = 0;
  bool allowed_ = false;
  bool peer_asks_ = false;
};

}  // namespace weft::detail
