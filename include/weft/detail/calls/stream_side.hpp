// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/incoming_items.hpp"
#include "weft/detail/calls/stream_place.hpp"
#include "weft/detail/calls/stream_windows.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft {
class Attachment;
class Loop;
}  // namespace weft

namespace weft::detail {

class ItemTransfer;
class MemoryBudget;
class SessionStreams;
struct StreamRoomTag;

/// Terms on which the items of a stream that is open go through other threads.
struct StreamTerms {
  /// Returns those of the stream at `place`, which is open.
  static StreamTerms of(const StreamPlace& place) noexcept;

  /// Counts the memory that they take there.
  std::shared_ptr<MemoryBudget> memory{};
  /// Bytes of items that the peer may send before it is granted more.
  std::uint32_t window = 0;
  /// Largest item that the peer takes, and largest attachment of one.
  std::uint32_t item_bytes_max = 0;
  std::uint64_t attachment_bytes_max = 0;
  bool answers = false;
};

/// One side of a stream: the items that it sends and those that it receives under the id of one call, which
/// its owner begins, ends and answers. Knows no types.
///
///   writing:  kOpen --end_writing()--> kEnded            kOpen, kEnded --close(), or an item fails--> kOver
///   reading:  kOpen --the peer's last item--> kEnded     kOpen --close()--> kEnded
///
/// close() says whether the items that wait to be read stay or are dropped.
///
/// One reader and one writer may wait at a time; whoever waits is scheduled once, and looks again. Thread:
/// its loop's.
class StreamSide final : public ListHook<StreamRoomTag>, public PooledFrame {
 public:
  /// `loop` is its owner's.
  explicit StreamSide(Loop& loop) noexcept : loop_(loop) {}
  ~StreamSide();
  StreamSide(const StreamSide&) = delete;
  StreamSide& operator=(const StreamSide&) = delete;

  /// The call `id` is under way on the connection of `streams`, which stays until close(). `answers`: this
  /// side answers its request. An end_writing() that came before is sent now.
  void open(SessionStreams& streams, std::uint64_t id, bool answers) noexcept;
  const StreamPlace& place() const noexcept { return place_; }
  /// Nothing more is sent or received: the call has ended, by `why` if that is a failure. Items that arrived
  /// are read still, unless `drops` them. Whoever waits goes on. Does nothing the second time.
  void close(const Status& why, bool drops) noexcept;
  /// Closes the side because an item was lost here, by `why`: it could not be decoded, kept or sent. Also
  /// after an end without a failure, as long as items that arrived are still read: failure() then reports the
  /// loss.
  void abandon(const Status& why) noexcept;
  /// Reason why no more items can be written, or why reading ended before the peer's last item. Ok: nothing
  /// failed, or reading ended with the peer's last item.
  const Status& failure() const noexcept { return failure_; }
  /// The failure, if this side lost an item: the call cannot end well then, whatever its owner makes of the
  /// other items. Ok also when the peer or a cancel ended the stream.
  Status loss() const { return lost_item_ ? failure_ : Status{}; }

  enum class Writing : std::uint8_t {
    kReady,  ///< an item may be sent now
    kWait,   ///< for the peer's credit, for room, for the connection, or for an attachment to leave
    kOver,   ///< nothing is sent any more
  };
  Writing writing() noexcept;
  /// Returns the place for the body of an item, to be written at once, and then end_item(). Only when kReady.
  /// Null when it cannot be sent: writing is over then, and failure() says why.
  /// `attachment`, if not null, is one that is not empty, and send_attachment() follows end_item() with it.
  std::byte* begin_item(std::size_t bytes, const Attachment* attachment = nullptr) noexcept;
  void end_item() noexcept;
  /// Sends the attachment of the item that ended last, piece by piece. False when there is no memory: writing
  /// is over then, and failure() says why.
  bool send_attachment(Attachment attachment) noexcept;
  /// Some of an attachment is still to be queued: the writer is woken when it is.
  bool sends_attachment() const noexcept { return attachment_ != nullptr; }
  void on_attachment_queued() noexcept;
  /// Replaces end_item(): nothing is sent.
  void take_back_item(const std::byte* body, std::size_t bytes, std::uint64_t attachment_bytes = 0) noexcept;
  /// This side sends no more items; the peer is told behind the last attachment.
  void end_writing() noexcept;
  /// Sets who is scheduled when writing() may say something else than kWait, in a later turn if this one is
  /// old; null: nobody.
  void set_writer(Ready* writer) noexcept;
  const Ready* writer() const noexcept { return writer_; }
  void wake_writer() noexcept;

  /// Items that came and were not read. They are taken by take_item(), which tells the peer.
  IncomingItems& incoming() noexcept { return incoming_; }
  /// The item that is shown, if one is, is not needed any more, and the peer may send more.
  void take_item() noexcept {
    const std::uint64_t granted = incoming_.take();
    if (granted != 0 || incoming_.held() == 0) took(granted);
  }
  /// Items of incoming() were taken, released or discarded, and `granted` is what that said: the peer is told
  /// what it is granted, and the connection what is held still.
  void took(std::uint64_t granted) noexcept;
  /// Sets who is scheduled when there is an item, or when reading has ended; null: nobody.
  void set_reader(Ready* reader) noexcept { reader_ = reader; }
  const Ready* reader() const noexcept { return reader_; }

  /// Takes what the peer sent, of items one or more; a failure is a breach of the protocol, and ends the
  /// connection.
  Status on_items(std::span<const Frame> items, const ChunkRef& chunk) noexcept;
  Status on_credit(const wire::FrameHeader& header) noexcept;
  /// The attachment that incoming() awaits is here.
  void on_attachment_whole() noexcept;
  /// Stops reading because an item was lost, by `why`. The peer goes on until its call ends.
  void fail_reading(Status why) noexcept;

 private:
  /// The items that this side sends: the peer was told that no more come, or none may be sent any more.
  enum class OwnItems : std::uint8_t { kOpen, kEnded, kOver };

  void note_loss(Status why) noexcept;
  void fail_writing(Status why) noexcept;

  Loop& loop_;
  StreamPlace place_;
  SendWindow sent_;
  IncomingItems incoming_;
  Ready* reader_ = nullptr;
  Ready* writer_ = nullptr;
  Status failure_;
  /// Cost of the items that the connection knows to be held here.
  std::uint64_t counted_ = 0;
  /// Null when all of it is queued.
  ItemTransfer* attachment_ = nullptr;
  OwnItems own_items_ = OwnItems::kOpen;
  bool closed_ = false;
  bool lost_item_ = false;
};

}  // namespace weft::detail
