// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/base/status.hpp"
#include "weft/detail/transport/frame_sink.hpp"
#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

/// Exchange of frames with the peer under one id, as the table of a connection sees it. A call is an exchange
/// of one request and one answer; others may take more frames before the answer, which is the last.
/// Thread: the connection's loop. An exchange that is in a table leaves it before it is destroyed.
class Exchange {
 public:
  /// Takes the answer, which has no attachment; the exchange has left the table. The frame's bytes are
  /// valid during the call only.
  virtual void on_answer(const Frame& frame) = 0;
  /// Chooses where the attachment of the answer goes. The exchange is in the table still.
  virtual Landing on_answer_attachment(const Frame& frame) = 0;
  /// Takes the answer, whose attachment is complete: `landed`, or read and dropped. The exchange has left
  /// the table.
  virtual void on_answer_attachment_end(const Frame& frame, bool landed) = 0;
  /// An answer came, in `chunk`, whose attachment follows in pieces. True: they are to be received. False:
  /// none is, and the exchange ends; it is in the table still. Throws std::bad_alloc.
  virtual bool on_answer_begun(const Frame& frame, const ChunkRef& chunk) = 0;
  /// Ends the exchange, which has left the table, by an answer of whose attachment nothing is received.
  virtual void on_answer_without_pieces(const Frame& frame) = 0;
  /// The piece is the one that comes next of what on_answer_begun() let in.
  virtual bool expects(wire::PieceView piece) const = 0;
  /// Returns the place of a piece that was expected.
  virtual MutableBytes place(wire::PieceView piece) = 0;
  /// The piece landed. After the last one the exchange ends, and has left the table.
  virtual void on_piece_end(wire::PieceView piece) = 0;
  /// All of what the peer needs to begin was queued. Until then it cannot have run.
  virtual bool is_all_queued() const = 0;
  /// Ends the exchange with `failure`: the connection is gone, or, when it `stands`, the peer did not take
  /// the request. The exchange has left the table.
  virtual void on_lost(const Status& failure, bool stands) = 0;

 protected:
  ~Exchange() = default;
};

}  // namespace weft::detail
