// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"
#include "weft/detail/transport/base_carrier.hpp"
#include "weft/detail/transport/connection_counters.hpp"
#include "weft/detail/transport/connection_stats.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// Receives the bytes and the end of a ByteConnection. Thread: the connection's loop.
class ByteSink {
 public:
  /// Takes bytes from the peer, and returns how many of them it took, from the first on. A sink that does not
  /// take all of them has called pause_receiving() or give_way() before it returns; the rest is delivered
  /// again later.
  virtual std::size_t on_bytes(Bytes bytes) = 0;
  /// The peer sends nothing more. The sink calls finish() or close() now or later.
  virtual void on_peer_end() = 0;
  /// Queued bytes are about to leave: a sink that keeps bytes until then queues them now. Comes after
  /// ByteConnection::flush_soon(), or after bytes were queued.
  virtual void before_flush() {}
  /// Queued bytes have left: none are queued now, or fewer than ByteConnection::kHighWater again.
  virtual void on_drained() = 0;
  /// The connection has ended; the last call. May destroy the connection.
  virtual void on_closed(const Status& why) = 0;

 protected:
  ~ByteSink() = default;
};

/// A connection of plain bytes over a BaseCarrier, for protocols with a framing of their own: a queue of
/// bytes to send, and bounded receiving. While nothing is queued or kept, it holds no chunk. A base carrier
/// moves bytes itself, so that receive() and send() of it never begin anything (Moved::Kind::kBegun). Belongs
/// to one loop. May be destroyed at any time outside the callbacks of its sink, except on_closed().
///
///   open --close(), a failure, or both sides have ended--> closing --the loop's next turn--> closed
///   sending: open --finish()--> finishing --the last byte left--> ended
class ByteConnection final : private CarrierOwner, private TurnEndHook, private Timer {
 public:
  /// Number of queued bytes from which on has_room() is false.
  static constexpr std::size_t kHighWater = 256 * 1024;

  /// `carrier` was not given to another owner, or its owner has stopped using it. The peer may leave queued
  /// bytes untaken for `stall_timeout`.
  ByteConnection(Loop& loop, std::unique_ptr<BaseCarrier> carrier, Duration stall_timeout);
  ~ByteConnection();

  /// Begins to receive. `received` are bytes that the carrier gave before: they come first. Once.
  void start(ByteSink& sink, Bytes received = {});

  /// Queues a copy of `bytes`, to be sent at the end of the turn. Returns false when memory is exhausted: a
  /// part of the bytes may be queued then, and the caller closes the connection. Bytes that are queued after
  /// finish() or close() are dropped.
  bool send(Bytes bytes) noexcept;
  /// Calls ByteSink::before_flush() at the end of the turn, or when the carrier has room again.
  void flush_soon() noexcept;
  std::size_t queued_bytes() const noexcept { return queued_; }
  bool has_room() const noexcept { return queued_ < kHighWater; }

  /// Stops and restarts delivery, to hold back a peer that sends faster than its requests are served.
  /// Meanwhile at most a chunk of bytes is received, so that the end of a peer that sends no more than that
  /// is noticed.
  void pause_receiving() noexcept { paused_ = true; }
  void resume_receiving() noexcept;
  /// Lets other connections have their turn: delivery goes on in a later one.
  void give_way() noexcept;
  /// Delivery is paused, or gives way.
  bool is_held() const noexcept { return paused_ || gives_way_; }
  /// True while received bytes wait for resume_receiving().
  bool keeps_bytes() const noexcept { return in_begin_ < in_end_; }

  /// Sends the queued bytes, and then ends the sending side. The connection closes when the peer has ended
  /// its side too, or a short time after the last byte has left.
  void finish() noexcept;
  /// Ends both sides soon, without sending the queued bytes; on_closed(why) comes from the loop.
  void close(Status why) noexcept;
  /// Ends both sides now. The sink is not called any more.
  void abandon() noexcept;

  std::string local_endpoint() const { return carrier_->local_endpoint(); }
  std::string remote_endpoint() const { return carrier_->remote_endpoint(); }
  Identity peer_identity() const noexcept { return carrier_->peer_identity(); }
  /// Traffic so far; received and sent frames are not counted. Thread: any, while the connection exists.
  ConnectionStats stats() const noexcept;

 private:
  enum class State : std::uint8_t { kMade, kOpen, kClosing, kClosed };
  enum class Sending : std::uint8_t { kOpen, kFinishing, kEnded };
  struct Work : Ready {
    explicit Work(ByteConnection& its) noexcept;
    ByteConnection& connection;
  };
  /// Queued bytes: [begin, end) of a chunk.
  struct Piece {
    ChunkRef chunk;
    std::size_t begin = 0;
    std::size_t end = 0;
  };

  // The carrier reports.
  bool receives() const override { return state_ == State::kOpen && !receive_ended_ && !is_full(); }
  void on_readable() override;
  void on_writable() override;
  void on_report_end() override;
  void on_failed(Status why) override { close(std::move(why)); }
  void on_turn_end() override;
  void on_timer() override;

  bool is_over() const noexcept { return state_ >= State::kClosing; }
  /// The chunk of bytes that wait for delivery has no room.
  bool is_full() const noexcept { return in_ && in_end_ == in_->capacity(); }
  void work() noexcept;
  void schedule_work() noexcept;
  void receive();
  void deliver();
  /// Receives once behind the bytes that wait. Returns the number of bytes.
  std::size_t receive_once();
  void peer_ended();
  void flush();
  Moved send_some();
  void consume(std::size_t bytes) noexcept;
  void after_flush();
  /// Lets the sink queue more. Returns false when that has ended the connection.
  bool let_sink_queue();
  void linger();
  void end_if_due();
  void conclude();
  void lost(const char* what, int error) noexcept;

  Loop& loop_;
  const std::unique_ptr<BaseCarrier> carrier_;
  const Duration stall_timeout_;
  ByteSink* sink_ = nullptr;
  Work work_{*this};
  Status why_;
  ChunkRef in_;
  std::size_t in_begin_ = 0;
  std::size_t in_end_ = 0;
  /// The pieces from first_ on are queued.
  std::vector<Piece> pieces_;
  std::size_t first_ = 0;
  std::size_t queued_ = 0;
  /// Time at which the peer last took queued bytes, or from which on the carrier had no room for them.
  TimePoint blocked_since_{};
  ReceiveCounters received_;
  SendCounters sent_;
  State state_ = State::kMade;
  Sending sending_ = Sending::kOpen;
  bool paused_ = false;
  bool gives_way_ = false;
  bool readable_ = false;
  bool receive_ended_ = false;
  /// The carrier has no room, and reports when it has.
  bool blocked_ = false;
  /// has_room() was false since the last on_drained().
  bool was_full_ = false;
};

}  // namespace weft::detail
