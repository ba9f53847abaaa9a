// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// Has more to send than an outbox is to hold: a connection asks it for the next piece whenever little is
/// queued, so that what is queued otherwise never waits behind much. Thread: the connection's loop.
class OutboxSource {
 public:
  /// Queues one piece, as one frame, if it has one now. Returns how many bytes that was; with 0 it has none
  /// for now, and tells the connection when it has (Connection::pull_from()). Without `peer_answers`
  /// nothing is heard of the peer: it has ended its side, or this side does not read.
  virtual std::size_t queue_piece(bool peer_answers) noexcept = 0;
  /// More than was queued is to be sent, now or later.
  virtual bool has_more() const noexcept = 0;

 protected:
  ~OutboxSource() = default;
};

}  // namespace weft::detail
