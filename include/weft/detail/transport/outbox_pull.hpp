// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/detail/transport/outbox.hpp"
#include "weft/detail/transport/outbox_source.hpp"

namespace weft::detail {

/// Pulls from a source into an outbox whenever little is queued, a bounded share in each turn of the loop.
/// Thread: the connection's loop.
///
///   none --set()--> ready --a turn's share was pulled--> put off --the next turn--> ready
class OutboxPull {
 public:
  explicit OutboxPull(Outbox& outbox) noexcept : outbox_(outbox) {}

  /// Null: there is no source. `announcing` more of the frames that are queued are its own, beside its
  /// pieces.
  void set(OutboxSource* source, std::uint32_t announcing = 0) noexcept {
    source_ = source;
    own_frames_ += announcing;
  }
  /// It would pull now.
  bool is_ready() const noexcept { return source_ != nullptr && !put_off_; }
  /// Nothing is queued, and the source has no more.
  bool all_sent() const noexcept { return outbox_.empty() && (source_ == nullptr || !source_->has_more()); }
  /// True while a piece is being queued, so that the queue holds an incomplete frame.
  bool is_pulling() const noexcept { return pulling_; }
  /// The turn's share was pulled and there is more: begin_turn() follows in a later turn.
  bool is_put_off() const noexcept { return put_off_; }
  /// Pulls the next piece, if there is room for it and `pulled` bytes of this turn are not all of its share.
  /// Returns how many bytes that was. While it is_ready().
  std::size_t pull(std::size_t pulled, bool peer_answers) noexcept {
    if (!has_room()) return 0;
    if (pulled >= kBytesPerTurn) {
      put_off_ = source_->has_more();
      return 0;
    }
    pulling_ = true;
    const std::size_t bytes = source_->queue_piece(peer_answers);
    pulling_ = false;
    if (bytes > 0) ++own_frames_;
    return bytes;
  }
  /// Tells whether some of the frames that have left, in part at least, since this was asked last are not the
  /// source's own.
  bool others_left() noexcept {
    const auto others = static_cast<std::uint32_t>(outbox_.counters().frames.get()) - own_frames_;
    // Own frames are counted before they leave: then there seem to be fewer.
    if (static_cast<std::int32_t>(others - others_) <= 0) return false;
    others_ = others;
    return true;
  }
  /// True when it had been put off.
  bool begin_turn() noexcept { return std::exchange(put_off_, false); }

 private:
  static constexpr std::size_t kBytesPerTurn = 128 * 1024;
  /// Bytes queued that the carrier has not begun, and in all, with which nothing is pulled.
  static constexpr std::size_t kBelow = 64 * 1024;
  static constexpr std::size_t kQueuedMax = 4 * 1024 * 1024;

  bool has_room() const noexcept {
    return outbox_.position() - outbox_.handed_over() < kBelow && outbox_.queued_bytes() < kQueuedMax;
  }

  Outbox& outbox_;
  OutboxSource* source_ = nullptr;
  /// Frames of the source that were queued, and all others that had left when that was asked last, modulo
  /// 2^32.
  std::uint32_t own_frames_ = 0;
  std::uint32_t others_ = 0;
  bool put_off_ = false;
  bool pulling_ = false;
};

}  // namespace weft::detail
