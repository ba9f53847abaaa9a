// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/calls/sending/outgoing_transfer.hpp"
#include "weft/detail/calls/stream/stream_place.hpp"
#include "weft/detail/calls/terms/attachment.hpp"
#include "weft/detail/runtime/late_end.hpp"

namespace weft::detail {

class SessionLink;
class SessionStreams;
class StreamSide;

/// Attachment of a stream's item while it is sent. An operation record that owns itself: it is destroyed when
/// the connection no longer uses it.
///
///   made --begin()--> queued piece by piece --the last one--> leaving --all of it left--> gone
///                       |  stop(), or the connection is lost
///                       '--> nothing of it is lent any more --------------------------> gone
///
/// Thread: its stream's loop.
class ItemTransfer final : public OutgoingTransfer, private LateEnd {
 public:
  /// `side` is notified when all of it is queued, unless it calls stop() before.
  ItemTransfer(Attachment attachment, StreamSide& side) noexcept;

  /// Its item was just queued, on a stream of the session of `streams`. Returns false when there is no memory
  /// to queue it: it is destroyed then, and the connection cannot be used any more.
  bool begin(SessionStreams& streams) noexcept;
  /// Queues no more of it, and notifies no one. Also called when the connection is gone, at its stream's end.
  /// It is destroyed as a LateEnd, because the user's function that releases its memory may destroy the
  /// stream, whose functions are on the stack.
  void stop(Loop& loop) noexcept;
  /// The first half of stop(), which calls no code of the user's; stop() follows.
  void leave_side() noexcept;
  void on_queued() noexcept override;

 private:
  ~ItemTransfer() override = default;
  void on_returned(bool sent) noexcept override;
  bool queue_whole(const StreamPlace& place) noexcept;

  const Attachment attachment_;
  /// Null when it is no longer notified.
  StreamSide* side_;
  /// Null before begin().
  SessionLink* link_ = nullptr;
  bool queued_ = false;
  bool returned_ = false;
};

}  // namespace weft::detail
