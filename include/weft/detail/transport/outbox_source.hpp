// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::detail {

/// A source of more bytes than an outbox should hold: a connection asks it for the next piece whenever little
/// is queued, so that other frames never wait behind much. Thread: the connection's loop.
class OutboxSource {
 public:
  /// Queues one piece, as one frame, if it has one now. Returns how many bytes that was; with 0 it has none
  /// for now, and tells the connection when it has (Connection::pull_from()). Without `peer_answers`
  /// nothing is heard of the peer: it has ended its side, or this side does not read.
  virtual std::size_t queue_piece(bool peer_answers) noexcept = 0;
  /// True while the source has further pieces, for now or for later.
  virtual bool has_more() const noexcept = 0;

 protected:
  ~OutboxSource() = default;
};

}  // namespace weft::detail
