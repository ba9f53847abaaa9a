// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft {
class Loop;
}  // namespace weft

namespace weft::detail {

class TimerQueue;

/// An action at a time: derive from it, then call Loop::arm(). Owned by the code that arms it; the loop keeps
/// a pointer until it fires, is disarmed or destroyed. Arming allocates nothing.
///
/// States: idle -arm-> waiting -its time has come-> due -on_timer-> idle. A timer that is due and is disarmed
/// by another one's on_timer() in the same turn does not fire. Thread: the loop's.
class Timer {
 public:
  Timer() {}  // NOLINT(modernize-use-equals-default): leaves out what insert() sets
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  /// Called in a turn of the loop, never early. The timer is idle by then: it may be armed again, or
  /// destroyed.
  virtual void on_timer() = 0;

  bool armed() const noexcept { return loop_ != nullptr; }
  /// Returns when it fires; meaningful while armed.
  TimePoint at() const noexcept { return at_; }

 protected:
  ~Timer() {
    if (loop_ != nullptr) disarm_at_end();
  }

 private:
  friend class weft::Loop;
  friend class TimerQueue;

  void disarm_at_end() noexcept;

  Loop* loop_ = nullptr;
  // From here on: while armed. Timers are made and dropped with every call, most of them without being armed.
  TimePoint at_;
  std::uint64_t sequence_;
  // The heap's tree while waiting; `previous_` is the parent for a first child. The due list while due.
  Timer* child_;
  Timer* next_;
  Timer* previous_;
  bool due_;
};

/// Timers by time, then in the order of arming: a pairing heap whose nodes are the timers themselves.
/// Arming a timer that is not the earliest and disarming one that never became the earliest are a few stores,
/// which is what the deadline of a call that is answered in time costs. The rest is O(log n) amortised.
/// Exact: no ticks, no rounding.
class TimerQueue {
 public:
  bool empty() const noexcept { return root_ == nullptr; }
  std::size_t size() const noexcept { return size_; }
  /// The earliest; null when empty.
  Timer* earliest() const noexcept { return root_; }

  void insert(Timer& timer, TimePoint at) noexcept;
  void remove(Timer& timer) noexcept;

  /// Moves everything that is due at `now` to the due list, in order.
  void collect_due(TimePoint now) noexcept;
  /// Takes the first off the due list; null when that is empty.
  Timer* pop_due() noexcept;

 private:
  static bool before(const Timer& a, const Timer& b) noexcept {
    return a.at_ != b.at_ ? a.at_ < b.at_ : a.sequence_ < b.sequence_;
  }
  static Timer* meld(Timer* a, Timer* b) noexcept;
  static Timer* merge_siblings(Timer* first) noexcept;
  void unlink_waiting(Timer& timer) noexcept;
  void unlink_due(Timer& timer) noexcept;

  Timer* root_ = nullptr;
  Timer* due_head_ = nullptr;
  Timer* due_tail_ = nullptr;
  std::uint64_t next_sequence_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::detail
