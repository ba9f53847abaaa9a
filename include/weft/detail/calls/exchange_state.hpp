// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <utility>

#include "weft/detail/base/fork_mark.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/stream_side.hpp"

namespace weft::detail {

/// A thread that may sleep until another one has something for it. Under the lock of whoever has it.
class SleepingThread {
 public:
  /// It is to be woken, by wake(), which may come when the lock is free again. False when it does not sleep.
  bool must_wake() noexcept { return std::exchange(sleeps_, false); }
  void wake() noexcept { goes_on_.notify_one(); }
  void wake_now() noexcept {
    if (must_wake()) wake();
  }
  /// Sleeps until it is woken, or something else happens. False when `until` was first.
  bool block(std::unique_lock<std::mutex>& lock, Deadline until) noexcept;
  bool sleeps() const noexcept { return sleeps_; }

 private:
  std::condition_variable goes_on_;
  bool sleeps_ = false;
};

/// Common part of both directions of a StreamExchange: the lock, the terms, the failure, the way to the loop.
/// No code of the user's runs under the lock. Threads: any; what takes a Lock is under it.
class ExchangeState {
 public:
  using Lock = std::unique_lock<std::mutex>;

  ExchangeState(const ExchangeState&) = delete;
  ExchangeState& operator=(const ExchangeState&) = delete;

  Lock lock() const noexcept { return Lock{mutex_}; }
  /// This process is a child of the one that has the loop: nothing is done with it here, the lock neither.
  bool in_child() const noexcept { return made_in_.in_child(); }
  /// Lets `thread`, which is this one, sleep until `ready` says so.
  template <typename Ready>
  void wait(Lock& lock, SleepingThread& thread, Ready ready) noexcept {
    check_alone(thread);
    while (!ready()) {
      if (!thread.block(lock, until_) && !ready()) return give_up_late(lock);
    }
  }
  /// Has the loop look, unless it was told already or the stream has ended; the lock is free meanwhile.
  void ask(Lock& lock) noexcept;
  /// Ends the stream on this side, and the loop tells the peer.
  virtual void give_up(Lock& lock, const Status& why) noexcept = 0;
  void note_failure(const Status& why) noexcept {
    if (failure_.ok()) failure_ = why;
  }
  const Status& noted_failure() const noexcept { return failure_; }
  /// Ok with a window of zero until the stream is open, and the same for ever then.
  const StreamTerms& terms() const noexcept { return terms_; }
  bool is_open() const noexcept { return terms_.window != 0; }

 protected:
  ExchangeState() = default;
  ~ExchangeState() = default;

  /// A thread that still waits after `until` ends the stream, because its loop does not turn. Called before
  /// another thread has this object.
  void expect_end_by(Deadline until) noexcept { until_ = until; }
  void set_terms(StreamTerms terms) noexcept { terms_ = std::move(terms); }
  /// The node that was posted is back: the loop looks after this, and not before, for a look for another
  /// reason leaves the node where it is.
  void take_back_post() noexcept {
    const Lock its_lock = lock();
    posted_ = false;
  }
  /// The loop need not look any more.
  void ask_no_more() noexcept { asks_no_more_ = true; }

 private:
  /// Lets the loop look at the exchange in a later turn, which take_back_post() begins. Not called again
  /// before that. Thread: those of the user.
  virtual void post() noexcept = 0;

  static void check_alone(const SleepingThread& thread) noexcept;
  void give_up_late(Lock& lock) noexcept;

  mutable std::mutex mutex_;
  StreamTerms terms_;
  Status failure_;
  Deadline until_;
  bool posted_ = false;
  bool asks_no_more_ = false;
  const ForkMark made_in_;
};

}  // namespace weft::detail
