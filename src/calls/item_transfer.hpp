// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/calls/attachment.hpp"
#include "weft/detail/calls/outgoing_transfer.hpp"
#include "weft/detail/calls/stream_place.hpp"

namespace weft::detail {

class StreamSide;

/// Attachment of a stream's item on its way. Its own operation record: nobody else owns it, and it is gone
/// when the connection is done with it.
///
///   made --begin()--> queued piece by piece --the last one--> leaving --all of it left--> gone
///                       |  stop(), or the connection is lost
///                       '--> nothing of it is lent any more --------------------------> gone
///
/// Thread: its stream's loop.
class ItemTransfer final : public OutgoingTransfer {
 public:
  /// `side` hears when all of it is queued, unless it stops it before that.
  ItemTransfer(Attachment attachment, StreamSide& side) noexcept;

  /// Its item was just queued, on the stream at `place`. False when there is no memory to queue it: it is
  /// gone then, and the connection is of no further use.
  bool begin(const StreamPlace& place) noexcept;
  /// No more of it is queued, and nobody hears of it. Also when the connection is gone, at its stream's end.
  void stop() noexcept;
  /// The first half of stop(), which calls no code of the user's; stop() follows.
  void leave_side() noexcept;
  void on_queued() noexcept override;

 private:
  ~ItemTransfer() = default;
  void on_returned(bool sent) noexcept override;
  bool queue_whole(const StreamPlace& place) noexcept;

  const Attachment attachment_;
  /// Null when it hears nothing any more.
  StreamSide* side_;
  bool queued_ = false;
  bool returned_ = false;
};

}  // namespace weft::detail
