// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// A source of more bytes than an outbox should hold: a connection asks it for the next piece whenever little
/// is queued, so that other frames never wait behind much. Thread: the connection's loop.
class OutboxSource {
 public:
  /// Queues one piece, as one frame, if there is one now. Returns its size; 0 if there is none now, and then
  /// the source calls Connection::pull_from() when there is. Without `peer_answers` nothing is received from
  /// the peer: it has ended its side, or this side does not read.
  virtual std::size_t queue_piece(bool peer_answers) noexcept = 0;
  /// True while the source has further pieces, for now or for later.
  virtual bool has_more() const noexcept = 0;

 protected:
  ~OutboxSource() = default;
};

}  // namespace weft::detail
