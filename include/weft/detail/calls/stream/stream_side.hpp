// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/stream/incoming_items.hpp"
#include "weft/detail/calls/stream/stream_place.hpp"
#include "weft/detail/calls/stream/stream_windows.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft {
class Attachment;
class Loop;
}  // namespace weft

namespace weft::detail {

class ItemSink;
class ItemTransfer;
class MemoryBudget;
struct StreamRoomTag;

/// Terms of an open stream, for threads other than its loop.
struct StreamTerms {
  /// Returns the terms of the open stream at `place`.
  static StreamTerms of(const StreamPlace& place) noexcept;

  /// Budget for the memory that items take on those threads.
  std::shared_ptr<MemoryBudget> memory{};
  /// Bytes of items that the peer may send before the next grant.
  std::uint32_t window = 0;
  /// Largest item that the peer takes, and largest attachment of one.
  std::uint32_t item_bytes_max = 0;
  std::uint64_t attachment_bytes_max = 0;
  bool answers = false;
};

/// One side of a stream: the items that it sends and receives under the id of one call. Its owner begins,
/// ends and answers the call. Independent of types.
///
///   writing:  kUnused --writing()--> kOpen               kUnused, kOpen --end_writing()--> kEnded
///             every state --close(), or an item fails--> kOver
///   reading:  kOpen --the peer's last item--> kEnded     kOpen --close()--> kEnded
///
/// close() decides whether the items that wait to be read stay or are dropped.
///
/// At most one reader and one writer may wait at a time; a waiter is scheduled once, and must look again.
/// Thread: its loop's. On another one the first writing(), end_writing(), took(), set_reader() and
/// set_writer() end the process with a message.
class StreamSide final : public ListHook<StreamRoomTag>, public PooledFrame {
 public:
  /// `loop` is its owner's.
  explicit StreamSide(Loop& loop) noexcept : loop_(loop) {}
  ~StreamSide();
  StreamSide(const StreamSide&) = delete;
  StreamSide& operator=(const StreamSide&) = delete;
  Loop& loop() const noexcept { return loop_; }

  /// The call `id` is under way on the connection of `sink`, which stays valid until close(). `answers`: this
  /// side answers the call's request. An earlier end_writing() is sent now.
  void open(ItemSink& sink, std::uint64_t id, bool answers) noexcept;
  const StreamPlace& place() const noexcept { return place_; }
  /// Ends both directions: the call has ended, because of `why` if that is a failure. Items that have arrived
  /// can still be read, unless `drops` is set. Wakes reader and writer. Has no effect the second time.
  void close(const Status& why, bool drops) noexcept;
  /// Closes the side because an item was lost here, by `why`: it could not be decoded, kept or sent. Also
  /// after an end without a failure, as long as items that arrived are still read: failure() then reports the
  /// loss.
  void abandon(const Status& why) noexcept;
  /// Reason why no more items can be written, or why reading ended before the peer's last item. Ok: nothing
  /// failed, or reading ended with the peer's last item.
  const Status& failure() const noexcept { return failure_; }
  /// The failure, if this side lost an item: the call must not succeed then, even if its owner handled all
  /// other items. Ok when the peer or a cancel ended the stream.
  Status loss() const { return lost_item_ ? failure_ : Status{}; }

  enum class Writing : std::uint8_t {
    kReady,  ///< an item may be sent now
    kWait,   ///< for the peer's credit, for room, for the connection, or for an attachment to leave
    kOver,   ///< no more items can be sent
  };
  Writing writing() noexcept;
  /// Returns the place for the body of an item, to be written at once and followed by end_item(). Only when
  /// kReady. Null when it cannot be sent: writing is over then, and failure() returns the reason.
  /// `attachment` is null or not empty; in the latter case send_attachment() must follow end_item().
  std::byte* begin_item(std::size_t bytes, const Attachment* attachment = nullptr) noexcept;
  void end_item() noexcept;
  /// Sends the attachment of the last item, piece by piece. Returns false when memory is exhausted: writing
  /// is over then, and failure() returns the reason.
  bool send_attachment(Attachment attachment) noexcept;
  /// Some of an attachment is not queued yet; the writer is woken when all of it is.
  bool sends_attachment() const noexcept { return attachment_ != nullptr; }
  void on_attachment_queued() noexcept;
  /// Replaces end_item(): nothing is sent.
  void take_back_item(const std::byte* body, std::size_t bytes, std::uint64_t attachment_bytes = 0) noexcept;
  /// This side sends no more items; the peer is notified after the last attachment.
  void end_writing() noexcept;
  /// Sets the node to schedule when writing() may have changed from kWait, in a later turn if this turn is
  /// old; may be null.
  void set_writer(Ready* writer) noexcept;
  const Ready* writer() const noexcept { return writer_; }
  void wake_writer() noexcept;

  /// Items that have arrived and were not read. They are taken by take_item(), which grants the peer more.
  IncomingItems& incoming() noexcept { return incoming_; }
  /// Removes the shown item, if there is one, and grants the peer more.
  void take_item() noexcept {
    const std::uint64_t granted = incoming_.take();
    if (granted != 0 || incoming_.held() == 0) took(granted);
  }
  /// Reports that items of incoming() were taken, released or discarded, with the grant that this returned:
  /// sends the grant to the peer, and updates the amount held for the connection.
  void took(std::uint64_t granted) noexcept;
  /// Sets the node to schedule when there is an item, or when reading has ended; may be null.
  void set_reader(Ready* reader) noexcept;
  const Ready* reader() const noexcept { return reader_; }

  /// Takes an item without attachment from the peer, for protocols other than Weft's. The item is copied
  /// unless it is large and lies in `chunk`. kNoCredit and kAfterLast are violations of the protocol; after
  /// kNoMemory the stream has failed.
  IncomingItems::Arrival on_item(Bytes item, const ChunkRef& chunk) noexcept;
  /// The peer sends no more items. Returns false if it has said so before.
  bool on_last_item() noexcept;
  /// Takes one or more items from the peer of a session. A failure is a protocol violation, and ends the
  /// connection.
  Status on_items(std::span<const Frame> items, const ChunkRef& chunk) noexcept;
  /// The peer allows items until the sum of their costs is `granted`. Returns false if that is no more than
  /// before, which is a violation of the protocol.
  bool on_credit(std::uint64_t granted) noexcept;
  /// The attachment that incoming() awaits has arrived.
  void on_attachment_whole() noexcept;
  /// Stops reading because an item was lost, by `why`. The peer hears of it when the reader, which still gets
  /// the items before that one, comes to the end.
  void fail_reading(Status why) noexcept;

 private:
  /// The items that this side sends: kUnused before the first, kEnded after the peer was told that no more
  /// follow, kOver when none may be sent any more. kOpen is zero, as Writing::kReady is: writing() then needs
  /// no instruction more.
  enum class OwnItems : std::uint8_t { kOpen, kUnused, kEnded, kOver };

  Writing begin_writing() noexcept;
  Writing writing_elsewhere() noexcept;
  std::byte* begin_any_item(std::size_t bytes, const Attachment* attachment) noexcept;
  void end_any_item() noexcept;
  std::byte* fail_closed() noexcept;
  bool is_over_share(std::uint64_t cost) const noexcept;
  void count_sent() noexcept;
  void note_loss(Status why) noexcept;
  void fail_writing(Status why) noexcept;

  Loop& loop_;
  StreamPlace place_;
  SendWindow sent_;
  IncomingItems incoming_;
  Ready* reader_ = nullptr;
  Ready* writer_ = nullptr;
  Status failure_;
  /// Cost of the items held here, as reported to the connection.
  std::uint64_t counted_ = 0;
  /// Null when all of it is queued.
  ItemTransfer* attachment_ = nullptr;
  /// Items that were sent and are not counted in the connection yet, which is done where writing pauses.
  std::uint32_t items_sent_ = 0;
  OwnItems own_items_ = OwnItems::kUnused;
  bool closed_ = false;
  bool lost_item_ = false;
};

}  // namespace weft::detail
