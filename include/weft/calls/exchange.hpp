// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/base/status.hpp"
#include "weft/transport/frame_sink.hpp"

namespace weft {

/// Exchange of frames with the peer under one id, as the table of a connection sees it. A call is an exchange
/// of one request and one response; others may take more frames before the response, which is the last.
/// Thread: the connection's loop. An exchange that is in a table leaves it before it is destroyed.
class Exchange {
 public:
  /// Takes the response, which has no attachment; the exchange has left the table. The frame's bytes are
  /// valid during the call only.
  virtual void on_response(const Frame& frame) = 0;
  /// Chooses where the attachment of the response goes. The exchange is in the table still.
  virtual Landing on_response_attachment(const Frame& frame) = 0;
  /// Takes the response, whose attachment is complete: `landed`, or read and dropped. The exchange has left
  /// the table.
  virtual void on_response_attachment_end(const Frame& frame, bool landed) = 0;
  /// Ends the exchange with `failure`: the connection is gone, or, when it `stands`, the peer did not take
  /// the request. The exchange has left the table.
  virtual void on_lost(const Status& failure, bool stands) = 0;

 protected:
  ~Exchange() = default;
};

}  // namespace weft
