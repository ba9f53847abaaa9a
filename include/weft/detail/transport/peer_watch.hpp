// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/time.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

/// Tells what a peer owes, and is notified when that takes too long.
class PeerWatchOwner {
 public:
  /// Bytes are queued, and the carrier has no room for them.
  virtual bool waits_to_send() const noexcept = 0;
  /// True while the peer owes the rest of a frame that it began.
  virtual bool peer_owes() const noexcept = 0;
  /// Answers as Connection::has_looked().
  virtual bool has_looked(TimePoint due) const noexcept = 0;
  /// The peer took nothing for as long as it may.
  virtual void on_peer_stalled() = 0;
  /// Called when the peer has brought no owed bytes for the allowed time.
  virtual void on_peer_late() = 0;

 protected:
  ~PeerWatchOwner() = default;
};

/// Watches for how long a connection's peer accepts no queued bytes, and for how long it makes no progress
/// with a frame that it began. One timer for both: it is moved only to an earlier time, and checks when it
/// fires whether anything is late. Thread: the loop's.
class PeerWatch final : private Timer {
 public:
  /// The longest times without progress.
  struct Limits {
    Duration stall;
    Duration frame;
  };

  PeerWatch(Loop& loop, PeerWatchOwner& owner, const Limits& limits) noexcept
      : loop_(loop), owner_(owner), limits_(limits) {}

  /// Records that the carrier accepts no more of the queue; `some`: a part was accepted just before.
  void blocked(bool some) noexcept;
  /// Records that everything queued has left.
  void unblocked() noexcept { blocked_since_ = {}; }
  /// The peer owes something, and `progress` grows as it brings that.
  void owed(std::uint64_t progress) noexcept;
  /// Restarts the peer's time, because the peer could make no progress while it was not read.
  void restart() noexcept { progress_ = kNone; }
  /// Watches nothing any more.
  void stop() noexcept;

 private:
  static constexpr std::uint64_t kNone = ~std::uint64_t{0};

  void on_timer() override;
  void arm_by(TimePoint at) noexcept;
  TimePoint check_stall();
  TimePoint check_frame();

  Loop& loop_;
  PeerWatchOwner& owner_;
  const Limits limits_;
  /// The times since which the peer has taken nothing that is queued, and brought nothing that it owes.
  TimePoint blocked_since_{};
  TimePoint owed_since_{};
  std::uint64_t progress_ = kNone;
};

}  // namespace weft::detail
