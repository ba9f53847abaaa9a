// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/stream/stream_side.hpp"
#include "weft/detail/runtime/worker_wait.hpp"

namespace weft::detail {

/// A thread that may sleep until another thread has work for it. Protected by the lock of its owner.
class SleepingThread {
 public:
  /// Returns true if the thread sleeps and must be woken by wake(), which may be called after the lock was
  /// released.
  bool must_wake() noexcept { return std::exchange(sleeps_, false); }
  void wake() noexcept { goes_on_.notify_one(); }
  void wake_now() noexcept {
    if (must_wake()) wake();
  }
  /// Sleeps until it is woken, or spuriously wakes. Returns false when `until` has passed.
  bool block(std::unique_lock<std::mutex>& lock, Deadline until) noexcept;
  bool sleeps() const noexcept { return sleeps_; }

 private:
  std::condition_variable goes_on_;
  bool sleeps_ = false;
};

/// State shared by both directions of a StreamExchange: the lock, the terms, the failure, and the
/// notification of the loop. No user code runs under the lock. Threads: any; functions with a Lock parameter
/// require the lock.
class ExchangeState {
 public:
  using Lock = std::unique_lock<std::mutex>;

  ExchangeState(const ExchangeState&) = delete;
  ExchangeState& operator=(const ExchangeState&) = delete;

  Lock lock() const noexcept { return Lock{mutex_}; }
  /// Returns true in a child of the process that has the loop: the child must not use this object, not even
  /// its lock.
  bool in_child() const noexcept { return made_in_.in_child(); }
  /// Blocks `thread`, which is the calling one, until `ready` returns true.
  template <typename Ready>
  void wait(Lock& lock, SleepingThread& thread, Ready ready) noexcept {
    check_alone(thread);
    if (ready()) return;
    if (!is_callers_) return block_until(lock, thread, ready);
    // It may start a thread, and the loop must not wait for the lock meanwhile.
    lock.unlock();
    const WorkerWait waits;
    lock.lock();
    if (ready()) return;
    if (!waits.refusal().ok()) return give_up(lock, waits.refusal());
    block_until(lock, thread, ready);
  }
  /// Notifies the loop, unless a notification is pending or the stream has ended. Releases the lock
  /// meanwhile.
  void ask(Lock& lock) noexcept;
  /// Ends the stream on this side; the loop notifies the peer.
  virtual void give_up(Lock& lock, const Status& why) noexcept = 0;
  void note_failure(const Status& why) noexcept {
    if (failure_.ok()) failure_ = why;
  }
  const Status& noted_failure() const noexcept { return failure_; }
  /// Ok with a window of zero until the stream is open; constant afterwards.
  const StreamTerms& terms() const noexcept { return terms_; }
  bool is_open() const noexcept { return terms_.window != 0; }

 protected:
  ExchangeState() = default;
  ~ExchangeState() = default;

  /// A thread that still waits after `until` ends the stream, because its loop does not respond. Call before
  /// another thread has access to this object.
  void expect_end_by(Deadline until) noexcept { until_ = until; }
  /// Threads on this side made the call, so a worker that waits here is replaced (WorkerWait). Called before
  /// another thread has this object.
  void set_callers() noexcept { is_callers_ = true; }
  void set_terms(StreamTerms terms) noexcept { terms_ = std::move(terms); }
  /// Reports that the posted node has returned. Call this before looking at the exchange: a look for another
  /// reason leaves the node posted.
  void take_back_post() noexcept {
    const Lock its_lock = lock();
    posted_ = false;
  }
  /// The loop needs no more notifications.
  void ask_no_more() noexcept { asks_no_more_ = true; }

 private:
  /// Makes the loop look at the exchange in a later turn, which begins with take_back_post(). Not called
  /// again before that. Thread: those of the user.
  virtual void post() noexcept = 0;

  static void check_alone(const SleepingThread& thread) noexcept;
  template <typename Ready>
  void block_until(Lock& lock, SleepingThread& thread, Ready ready) noexcept {
    while (!ready()) {
      if (!thread.block(lock, until_) && !ready()) return give_up_late(lock);
    }
  }
  void give_up_late(Lock& lock) noexcept;

  mutable std::mutex mutex_;
  StreamTerms terms_;
  Status failure_;
  Deadline until_;
  bool posted_ = false;
  bool asks_no_more_ = false;
  bool is_callers_ = false;
  const ForkMark made_in_;
};

}  // namespace weft::detail
