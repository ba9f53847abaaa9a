// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/coro/awaitable.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/fd_watch.hpp"
#include "weft/detail/runtime/loop_chunks.hpp"
#include "weft/detail/runtime/loop_options.hpp"
#include "weft/detail/runtime/poller.hpp"
#include "weft/detail/runtime/poller_chain.hpp"
#include "weft/detail/runtime/quick_burst.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/runtime/turn_end_hook.hpp"
#include "weft/detail/runtime/turn_time.hpp"

namespace weft {

namespace detail {
class Alarm;
class FdPoller;
class InternalWatch;
class Mailbox;
class WatchTable;
}  // namespace detail

/// The engine of one thread. It repeats a turn:
///
///   posted work -> events that the last turn did not reach -> descriptors and pollers -> timers
///     -> work postponed by earlier turns -> ready coroutines (up to a budget) -> turn-end hooks
///
/// where coroutines made ready by one of several descriptors run before the next descriptor's report. A turn
/// that has taken a millisecond comes to its end (TurnTime): postponable work is postponed, so that timers
/// and descriptors are served however much there is to do. Code with much work does a part, and postpones the
/// rest behind the others. Between turns the loop waits as its WaitMode says: drain, arm, drain again, then
/// sleep.
///
/// Pollers answer in nanoseconds, the clock and the kernel do not. With pollers, and while it would not sleep
/// (busy, or adaptive within its spin), run() and block_on() therefore run quick turns between the full ones:
///
///   pollers -> posted work -> ready coroutines -> turn-end hooks
///
/// without the clock, descriptors and timers. Their number is the number that takes about 50 us while pollers
/// bring work, 10 us while neither or both kinds do, 1 us while only descriptors do (detail::QuickBurst), and
/// all of them together with the full turn before run no more coroutines than its budget. With a clock that
/// does not advance by itself, and in run_once() and run_until_idle(), every turn is a full one.
///
/// Thread: everything belongs to the thread that runs the loop, except post(), stop() and stats(). A loop may
/// be created on one thread and run on another. Posted work, coroutines, timers and watches must not throw:
/// an exception that escapes terminates the process with a message.
class Loop : public detail::Executor {
 public:
  static constexpr Duration kForever = Duration::max();

  /// Errors: errno of the system's refusal (kResourceExhausted for descriptors), kUnimplemented when io_uring
  /// was asked for and is not part of this build, kInvalidArgument for options with which nothing would run.
  static Result<std::unique_ptr<Loop>> create(const LoopOptions& options = {});
  /// Must not be in a turn, and outlives its clients. Posted work that did not run is dropped; timers and
  /// watches are disarmed. Every chunk must be back.
  ~Loop();

  /// The loop whose turn runs on this thread, or null.
  static Loop* current() noexcept { return current_; }
  bool in_turn() const noexcept { return in_turn_; }
  /// False on a thread that must leave everything of this loop alone: another one runs it, or this one is
  /// inside a turn of another loop. Thread: any.
  bool is_used_here() const noexcept;

  /// The clock, read once per full turn, after each sleep, and within a turn with much work; between turns
  /// the clock itself. With pollers it may be some 50 us behind, plus the time that the turn's work has
  /// taken; never ahead: no timer fires early, and a timeout counted from here ends earlier by that much. For
  /// a more precise time call read_clock().
  TimePoint now() const noexcept { return in_turn_ ? turn_time_.now() : clock_.now(); }
  Clock& clock() const noexcept { return clock_; }
  /// Reads the clock, for a time that is counted from here on: a turn may have lasted long, and now() is its
  /// beginning until this moves it.
  TimePoint read_clock() noexcept { return turn_time_.read(); }
  /// Returns the time of the turn, for code whose work may fill one: it records its work there, and postpones
  /// the rest when it is too much.
  detail::TurnTime& turn_time() noexcept { return turn_time_; }
  const detail::TurnTime& turn_time() const noexcept { return turn_time_; }
  /// Numbers for what must differ and need not be secret; repeatable where the clock is (LoopOptions::seed).
  detail::RandomNumbers& random() noexcept { return random_; }
  detail::ChunkPool& chunks() noexcept { return chunks_; }
  /// Returns the poller in use, which is epoll if io_uring was refused. It is never kAuto.
  PollerKind poller_kind() const noexcept { return options_.poller; }
  WaitMode mode() const noexcept { return options_.mode; }
  /// Thread: any; the loop must outlive the call.
  LoopStats stats() const noexcept;
  /// Returns the number of armed timers without the loop's own.
  std::size_t timers_armed() const noexcept { return timers_.size() - (chunks_.are_timed() ? 1 : 0); }
  std::size_t watches() const noexcept;

  /// Runs `work` in a turn soon, in the order of one thread's posts. Wakes the loop if it sleeps; otherwise
  /// it is one allocation and no system call. Thread: any; the loop must outlive the call.
  void post(detail::UniqueFunction<void()> work);

  /// Turns until stop(). It must not be called inside a turn.
  void run();
  /// Makes run() return after the current turn, or after the burst of quick turns. Without a running run(),
  /// the next one returns at once; each return of run() clears the request. Calls that other threads have
  /// under way in this loop, and calls that they make before its next turn, end with kCancelled. Thread: any;
  /// the loop must outlive the call.
  void stop();

  /// One turn, which waits at most `max_wait` for something to do. True when it did something. It must not be
  /// called inside a turn.
  bool run_once(Duration max_wait);
  /// Turns until there is nothing left to do now, without waiting. Returns how much was done: posted work,
  /// descriptor reports, timers, coroutines and hooks. With a ManualClock that is the same every time.
  std::size_t run_until_idle();
  /// Returns when the earliest timer fires; none when no timer is armed. A simulation sets its clock to it.
  std::optional<TimePoint> next_timer() const noexcept;

  /// Returns a descriptor for a foreign event loop: it becomes readable when run_once(0) has something to do,
  /// timers included (not with a clock that does not advance by itself). Belongs to the loop. Between turns,
  /// hand the loop work by post().
  int descriptor();

  /// Starts `task` in the loop and runs turns until it has ended; rethrows its exception. Must not be called
  /// inside a turn.
  template <typename T>
  T block_on(Task<T> task);
  /// The same for one call, one sleep, any awaitable: `loop->block_on(client.call<f>(1))`.
  template <typename A>
    requires detail::Awaitable<std::remove_reference_t<A>>
  detail::AwaitResult<A> block_on(A&& awaitable) {
    static_assert(!std::is_lvalue_reference_v<A>, "block_on() uses up what it waits for: say std::move(...)");
    return block_on(detail::await_in_place(std::forward<A>(awaitable)));
  }

  /// Lets `timer` fire at `at`, or as soon as possible when that has passed; an armed one is moved.
  void arm(detail::Timer& timer, TimePoint at) noexcept;
  void disarm(detail::Timer& timer) noexcept;

  /// Calls `hook` once at the end of this turn (of the next one, from a hook); a `last` hook runs after all
  /// others, also in this turn when one of them queues it. A hook is queued once; queueing it again changes
  /// nothing.
  void at_turn_end(detail::TurnEndHook& hook, bool last = false) noexcept;

  /// Reports events of `fd` to `watch`, beginning with its present state. `fd` stays the caller's. Errors:
  /// the system's, with errno.
  Result<void> watch(detail::FdWatch& watch, int fd);
  /// Stops all reports to `watch`, also of events fetched before. Called before `fd` is closed.
  void unwatch(detail::FdWatch& watch) noexcept;

  /// Polls `poller` in every turn, and arms it before each sleep. It must be removed before it is destroyed,
  /// and before the loop is. Several pollers are polled in order, independent of each other. Errors: the
  /// system's when its descriptor cannot be watched.
  Result<void> add_poller(Poller& poller);
  void remove_poller(Poller& poller) noexcept;

  /// The way to this loop for other threads, which may keep it longer than the loop exists.
  const std::shared_ptr<detail::Mailbox>& mailbox() const noexcept { return mailbox_; }

 private:
  class TurnGuard;
  class Seat;

  Loop(const LoopOptions& options, std::unique_ptr<detail::FdPoller> fds,
       std::shared_ptr<detail::Mailbox> mailbox);
  Result<void> watch_internals();

  template <typename Work>
  auto in_a_turn(Work work) noexcept;
  template <typename Done>
  void turn_until(Done done);
  void turn_until(const bool& done);
  std::size_t turn(Duration max_wait) noexcept;
  std::size_t full_turn(Duration max_wait);
  bool may_be_quick() const noexcept;
  /// Ends the process with words while another thread runs the loop, and with `inside` in a turn of the loop.
  void check_driver(const char* inside) const noexcept;
  template <typename Done>
  void quick_turns(Done done);
  std::size_t quick_turn(detail::Mailbox& mailbox);
  void after_quick_turns();
  std::size_t wait_for_events(Duration max_wait);
  Duration time_to_sleep(Duration max_wait);
  Duration prepare_to_sleep(Duration at_most);
  std::size_t dispatch_events(Duration timeout);
  void note_reported(std::size_t events) noexcept;
  std::size_t end_report(std::uint64_t token);
  std::size_t run_ready_within_budget();
  std::size_t fire_timers();
  bool has_work() const noexcept { return has_ready() || !hooks_.empty() || turn_time_.has_later(); }
  /// Leaves waiting to a foreign loop, which does it between turns: everything that gives us work has to
  /// reach the descriptor.
  void leave_to_foreign_loop() noexcept;

  static inline constinit thread_local Loop* current_ = nullptr;

  const LoopOptions options_;
  Clock& clock_;
  const bool real_time_;
  bool in_turn_ = false;
  bool running_ = false;
  bool foreign_ = false;
  detail::TurnTime turn_time_;
  std::size_t budget_left_ = 0;
  /// Number of waits in a row that returned as many events as one may, and the beginning of the first.
  std::size_t full_waits_ = 0;
  TimePoint full_since_{};
  detail::RandomNumbers random_;

  detail::TimerQueue timers_;
  detail::LoopChunks chunks_;
  detail::TurnEndHooks hooks_;
  std::unique_ptr<detail::FdPoller> fds_;
  std::unique_ptr<detail::WatchTable> watches_;
  std::shared_ptr<detail::Mailbox> mailbox_;
  std::unique_ptr<detail::InternalWatch> wakeup_;
  std::unique_ptr<detail::Alarm> alarm_;
  detail::PollerChain pollers_;
  detail::QuickBurst burst_;
  detail::LoopCounters counters_;
  std::atomic<bool> stop_{false};
};

template <typename T>
T Loop::block_on(Task<T> task) {
  struct Driver : detail::Ready, detail::Completion {
    explicit Driver(Task<T>& driven) : detail::Ready(&start), Completion{&ended}, task(driven) {}
    static void start(detail::Ready* ready) noexcept {
      Driver& driver = *static_cast<Driver*>(ready);
      detail::start(driver.task, nullptr, driver);
    }
    static void ended(Completion& completion, detail::TaskPromiseBase&) noexcept {
      static_cast<Driver&>(completion).done = true;
    }
    Task<T>& task;
    bool done = false;
  };
  check_driver("block_on inside a turn of the same loop would wait for itself");
  Driver driver{task};
  schedule(driver);
  turn_until(driver.done);
  return detail::take_result(task);
}

}  // namespace weft
