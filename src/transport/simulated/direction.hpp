// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/simulated/network.hpp"
#include "transport/simulated/segment_queue.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::simulated {

/// One direction of a connection.
///
///   send() -> stuck -> flying -> arrived -> receive()
///
///   stuck     not on the way, or lost: the sender's host tries again after waits that double
///   flying    on the way, each segment with the time at which it arrives
///   arrived   in the receiver's host, not read yet
///
/// A segment that arrives while the direction is blocked is lost, and all behind it with it.
/// Positions count bytes, and one for the end; each is at most the one before it:
///
///   sent >= delivered >= acknowledged          acknowledged: the sender's host knows of the delivery
///   delivered >= consumed >= window            window: the sender's host knows of the room
///
/// The last of each follow at once, unless the way back is blocked: then when the sender tries again.
class Direction {
 public:
  static constexpr TimePoint kNever = TimePoint::max();

  Direction(Network& network, Host& from, Host& to, std::uint64_t number);

  Host& sender() const { return from_; }
  Host& receiver() const { return to_; }

  /// Takes as many bytes as there is room for. After a short count, the sender is notified when there is room
  /// again.
  std::size_t send(std::span<const iovec> from);
  /// No bytes follow. Again is no change.
  void end();
  /// Abandons the direction: unsent bytes are dropped, and a reset follows the bytes in transit if the
  /// direction is open.
  void reset();
  /// Makes the sender disappear with all unsent bytes.
  void vanish();

  std::size_t receive(std::span<const iovec> into);
  /// Reports delivered and received bytes to the sender's host. Returns true if the sender waits for the
  /// room.
  bool acknowledge();
  /// Everything before the end was received.
  bool at_end() const { return at(Segment::Kind::kEnd); }
  /// A reset has arrived.
  bool is_reset() const { return reset_; }
  bool has_arrived() const { return !arrived_.empty(); }
  /// The last segment that arrived did so then.
  TimePoint arrived_by() const { return arrived_by_; }
  /// Drops arrived bytes. Returns true if there were any.
  bool drop_arrived();

  struct Happened {
    bool arrived = false;
    bool room = false;
    bool given_up = false;
  };
  /// Returns when time has an effect next.
  TimePoint next() const;
  /// Executes all due steps.
  Happened run();
  /// Retries the transmission of stuck bytes now. Returns true if the sender waits for the room that results.
  bool try_again();

 private:
  /// Positions that were reached, see above.
  struct Positions {
    std::uint64_t sent = 0;
    std::uint64_t delivered = 0;
    std::uint64_t acknowledged = 0;
    std::uint64_t consumed = 0;
    std::uint64_t window = 0;
  };
  /// The next time that the sender's host tries again, and the wait before it.
  struct Retry {
    TimePoint at = kNever;
    Duration wait{};
  };

  bool at(Segment::Kind kind) const { return !arrived_.empty() && arrived_.front().kind == kind; }
  void enqueue(std::unique_ptr<Segment> segment);
  void leave(std::unique_ptr<Segment> segment);
  bool unfinished() const {
    return !vanished_ && (!stuck_.empty() || reached_.acknowledged != reached_.delivered ||
                          reached_.window != reached_.consumed);
  }
  bool outstanding() const { return !vanished_ && reached_.sent != reached_.acknowledged; }
  void retry_later();

  Network& network_;
  Host& from_;
  Host& to_;
  const std::uint64_t number_;
  const std::size_t capacity_;
  SegmentQueue arrived_;
  SegmentQueue flying_;
  SegmentQueue stuck_;
  Positions reached_;
  TimePoint last_arrival_{};
  TimePoint arrived_by_{};
  TimePoint progress_at_{};  // the last acknowledgement, or when there was nothing to acknowledge
  Retry retry_;
  bool sender_waits_ = false;
  bool vanished_ = false;
  bool ended_ = false;
  bool reset_ = false;
};

}  // namespace weft::detail::simulated
