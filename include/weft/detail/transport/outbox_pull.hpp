// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
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

  /// Null: there is no source.
  void set(OutboxSource* source) noexcept { source_ = source; }
  /// It would pull now.
  bool is_ready() const noexcept { return source_ != nullptr && !put_off_; }
  /// Nothing is queued, and the source has no more.
  bool all_sent() const noexcept { return outbox_.empty() && (source_ == nullptr || !source_->has_more()); }
  /// A part is being queued, and what is queued is not whole.
  bool is_pulling() const noexcept { return pulling_; }
  /// Pulls the next part if there is room for it. True when the turn's share, of which `pulled` bytes were
  /// taken, is over and there is more: it is put off, and begin_turn() follows in a later turn.
  bool pull(std::size_t& pulled) noexcept {
    if (!is_ready() || !has_room()) [[likely]] {
      return false;
    }
    if (pulled >= kBytesPerTurn) return put_off_ = source_->has_more();
    pulling_ = true;
    pulled += source_->queue_part();
    pulling_ = false;
    return false;
  }
  /// True when it had been put off.
  bool begin_turn() noexcept { return std::exchange(put_off_, false); }

 private:
  static constexpr std::size_t kBytesPerTurn = 128 * 1024;
  /// With this much queued that the carrier has not begun, or that much in all, nothing is pulled.
  static constexpr std::size_t kBelow = 64 * 1024;
  static constexpr std::size_t kQueuedMax = 4 * 1024 * 1024;

  bool has_room() const noexcept {
    return outbox_.position() - outbox_.handed_over() < kBelow && outbox_.queued_bytes() < kQueuedMax;
  }

  Outbox& outbox_;
  OutboxSource* source_ = nullptr;
  bool put_off_ = false;
  bool pulling_ = false;
};

}  // namespace weft::detail
