// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "weft/base/status.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/calls/incoming_items.hpp"
#include "weft/detail/calls/stream_windows.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/transport/frame_sink.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class MemoryBudget;
class SessionStreams;
struct StreamRoomTag;

/// Terms on which the items of a stream that is open go through other threads.
struct StreamTerms {
  /// Counts the memory that they take there.
  std::shared_ptr<MemoryBudget> memory{};
  /// Bytes of items that the peer may send before it is granted more.
  std::uint32_t window = 0;
  /// Largest item that the peer takes.
  std::uint32_t item_bytes_max = 0;
  bool answers = false;
};

/// One side of a stream: the items that it sends and those that it receives under the id of one call, which
/// its owner begins, ends and answers. Knows no types.
///
///   writing:  kOpen --end_writing()--> kEnded            kOpen, kEnded --close(), or an item fails--> kOver
///   reading:  kOpen --the peer's last item--> kEnded     kOpen --close()--> kEnded, items that wait stay, or
///                                                                           are dropped
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
  bool is_open() const noexcept { return streams_ != nullptr; }
  /// Only while it is open.
  StreamTerms terms() const noexcept;
  /// Nothing more is sent or received: the call has ended, by `why` if that is a failure. Items that arrived
  /// are read still, unless `drops` them. Whoever waits goes on. Does nothing the second time.
  void close(const Status& why, bool drops) noexcept;
  /// Says why items cannot be written any more, or why no more of them came than were read. Ok: nothing is
  /// wrong, or reading ended with the peer's last item.
  const Status& failure() const noexcept { return failure_; }

  enum class Writing : std::uint8_t {
    kReady,  ///< an item may be sent now
    kWait,   ///< for the peer's credit, for room, or for the connection
    kOver,   ///< nothing is sent any more
  };
  Writing writing() noexcept;
  /// Returns the place for the body of an item, to be written at once, and then end_item(). Only when kReady.
  /// Null when it cannot be sent: writing is over then, and failure() says why.
  std::byte* begin_item(std::size_t bytes) noexcept;
  void end_item() noexcept;
  /// In place of end_item(): nothing is sent.
  void take_back_item(const std::byte* body, std::size_t bytes) noexcept;
  /// This side sends no more items.
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
  /// Items of this cost, which incoming() has handed over, are not needed any more; as take_item().
  void settle_items(std::uint64_t cost) noexcept { took(incoming_.settle(cost)); }
  /// Nobody reads any more: items that come are dropped, and those that are here, also the one that is shown.
  void discard() noexcept;
  /// Sets who is scheduled when there is an item, or when reading has ended; null: nobody.
  void set_reader(Ready* reader) noexcept { reader_ = reader; }
  const Ready* reader() const noexcept { return reader_; }

  /// Takes what the peer sent, of items one or more; a failure is a breach of the protocol, and ends the
  /// connection.
  Status on_items(std::span<const Frame> items, const ChunkRef& chunk) noexcept;
  Status on_credit(const wire::FrameHeader& header) noexcept;
  /// Reads no more, for there is no memory for what comes. The peer goes on until its call is ended.
  void fail_for_memory() noexcept;

 private:
  /// The items that this side sends: the peer was told that no more come, or none may be sent any more.
  enum class OwnItems : std::uint8_t { kOpen, kEnded, kOver };

  void fail_writing(Status why) noexcept;
  /// Items were taken: the peer is told what it is granted, and the connection what is held still.
  void took(std::uint64_t granted) noexcept;

  Loop& loop_;
  SessionStreams* streams_ = nullptr;
  std::uint64_t id_ = 0;
  SendWindow sent_;
  IncomingItems incoming_;
  Ready* reader_ = nullptr;
  Ready* writer_ = nullptr;
  Status failure_;
  /// Cost of the items that the connection knows to be held here.
  std::uint64_t counted_ = 0;
  bool answers_ = false;
  OwnItems own_items_ = OwnItems::kOpen;
  bool closed_ = false;
};

}  // namespace weft::detail
