// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft::detail {

class CallDetails;
class StreamSide;

/// Exchange of frames with the peer under one id, as the table of a connection sees it. A call is an exchange
/// of one request and one answer; others may take more frames before the answer, which is the last.
/// Thread: the connection's loop. An exchange that is in a table leaves it before it is destroyed.
class Exchange {
 public:
  /// Takes the answer, which has no attachment; the exchange has left the table. The frame's bytes are
  /// valid during the call only.
  virtual void on_answer(const Frame& frame) = 0;
  /// Chooses where the attachment of the answer goes. The exchange is in the table still, unless the whole
  /// attachment is here.
  virtual Landing on_answer_attachment(const Frame& frame) = 0;
  /// Takes the answer, whose attachment is complete: `landed`, or dropped. The exchange has left the table.
  virtual void on_answer_attachment_end(const Frame& frame, bool landed) = 0;
  /// Its options and attachments; null when it has none.
  virtual CallDetails* details() = 0;
  /// Its items, if it is a stream; else null.
  virtual StreamSide* stream() noexcept { return nullptr; }
  /// Ends the exchange with `failure`: the connection is gone, or, when it `stands`, the peer did not take
  /// the request. The exchange has left the table.
  virtual void on_lost(const Status& failure, bool stands) = 0;

 protected:
  ~Exchange() = default;
};

}  // namespace weft::detail
