// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

/// A coroutine that waits on a stream which this side opened. A callback may destroy the stream meanwhile:
/// the wait then ends, and its awaiter leaves the stream alone. Thread: the stream's loop.
class StreamWait {
 public:
  StreamWait() noexcept {}  // NOLINT(modernize-use-equals-default): most awaiters never wait, and set nothing
  /// Returns true after the stream was destroyed. Call it after StreamWaits::add() only.
  bool has_lost_stream() const noexcept { return lost_; }

 private:
  friend class StreamWaits;

  Ready* node_;
  StreamWait* next_;
  bool lost_;
};

/// The coroutines that wait on one stream: at most one that reads, one that writes, and one that finishes.
class StreamWaits {
 public:
  StreamWaits() = default;
  StreamWaits(const StreamWaits&) = delete;
  StreamWaits& operator=(const StreamWaits&) = delete;

  /// A coroutine begins to wait; `node` resumes it.
  void add(StreamWait& wait, Ready& node) noexcept {
    wait.lost_ = false;
    wait.node_ = &node;
    wait.next_ = std::exchange(first_, &wait);
  }
  /// A coroutine goes on, or is destroyed.
  void remove(StreamWait& wait) noexcept {
    StreamWait** place = &first_;
    while (*place != &wait) place = &(*place)->next_;
    *place = wait.next_;
  }
  /// The stream is being destroyed: resumes the coroutines from `executor`.
  void lose_stream(Executor& executor) noexcept {
    while (first_ != nullptr) {
      StreamWait& wait = *std::exchange(first_, first_->next_);
      wait.lost_ = true;
      if (!wait.node_->is_scheduled()) executor.schedule(*wait.node_);
    }
  }

 private:
  StreamWait* first_ = nullptr;
};

}  // namespace weft::detail
