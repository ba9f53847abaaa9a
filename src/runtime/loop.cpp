// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/loop.hpp"

#include <pthread.h>

#include <algorithm>
#include <exception>

#include "runtime/added_poller.hpp"
#include "runtime/alarm.hpp"
#include "runtime/fd_poller.hpp"
#include "runtime/watch_table.hpp"
#include "weft/detail/runtime/escaped.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft {

namespace {

// A timer that is at least this far away is left to the alarm, which is rarely set: a timeout of its own for
// each sleep would have the kernel program its clock twice for every wake-up.
constexpr Duration kAlarmFrom = std::chrono::milliseconds{1};
// Minimum time that coroutines get in each turn, if there are many, after all other work of the turn.
constexpr Duration kReadyAtLeast = std::chrono::microseconds{250};

constexpr const char* kRunElsewhere =
    "a loop was driven while another thread runs it: write weft::blocking(client).call<f>(...) for a call, "
    "loop.post(...) for anything else, or start a loop of this thread's own";

}  // namespace

// What makes this thread's code run inside a turn of the loop.
class Loop::TurnGuard {
 public:
  explicit TurnGuard(Loop& loop) noexcept : loop_(loop), entered_(loop), outer_(current_) {
    WEFT_ASSERT(!loop.in_turn_, "a loop was driven from inside one of its own turns");
    WEFT_ASSERT(!loop.mailbox_->in_child(),
                "a loop of the parent was driven in a child of fork; make one here");
    loop_.in_turn_ = true;
    current_ = &loop_;
  }
  TurnGuard(const TurnGuard&) = delete;
  TurnGuard& operator=(const TurnGuard&) = delete;
  ~TurnGuard() {
    current_ = outer_;
    loop_.in_turn_ = false;
  }
  /// Sees to it that a child that is forked inside a turn is in none: the turn is its parent's.
  static void leave_to_parents() {
    [[maybe_unused]] static const int registered =
        ::pthread_atfork(nullptr, nullptr, [] { current_ = nullptr; });
  }

 private:
  Loop& loop_;
  detail::Executor::Enter entered_;
  Loop* outer_;
};

// Says for a while that this thread runs the loop. A foreign loop's thread does so between its turns too.
class Loop::Seat {
 public:
  explicit Seat(Loop& loop) noexcept : loop_(loop) {
    TurnGuard::leave_to_parents();
    loop_.mailbox_->open();
    before_ = loop_.mailbox_->use().set_run_by(detail::LoopUse::this_thread());
    WEFT_ASSERT(before_ == nullptr || before_ == detail::LoopUse::this_thread() || loop_.foreign_ ||
                    loop_.mailbox_->in_child(),
                kRunElsewhere);
  }
  Seat(const Seat&) = delete;
  Seat& operator=(const Seat&) = delete;
  ~Seat() {
    loop_.turn_time_.rest();
    if (!loop_.foreign_) loop_.mailbox_->use().set_run_by(before_);
  }

 private:
  Loop& loop_;
  const void* before_;
};

template <typename Work>
auto Loop::in_a_turn(Work work) noexcept {
  const TurnGuard guard{*this};
  try {
    return work();
  } catch (const std::exception& exception) {
    detail::exception_escaped(exception.what());
  } catch (...) {  // a foreign type: there is no text to print, and nothing else to do with it either
    detail::exception_escaped("not derived from std::exception");
  }
}

// This path is paid for each question to a poller, so every check is one comparison.
[[gnu::always_inline]] inline std::size_t Loop::quick_turn(detail::Mailbox& mailbox) {
  ++counters_.quick_turns;
  std::size_t did = pollers_.ask();
  if (mailbox.has_posts()) did += mailbox.run();
  if (has_ready()) {
    do {
      run_oldest();
      ++did;
    } while (--budget_left_ > 0 && has_ready());
  }
  if (!hooks_.empty()) did += hooks_.run();
  return did;
}

template <typename Done>
void Loop::quick_turns(Done done) {
  burst_.begin(turn_time_.now(), counters_.reports.get());
  turn_time_.be_quick();
  detail::Mailbox& mailbox = *mailbox_;
  std::int64_t units = burst_.units();
  std::size_t did = 0;
  do {
    did = quick_turn(mailbox);
    if (did > 0) {
      burst_.brought_something();
      pollers_.note_brought(did);
      if (done()) return;
      units -= static_cast<std::int64_t>(did) * detail::QuickBurst::kUnitsPerThing;
      if (budget_left_ == 0 || turn_time_.has_later()) break;
    }
  } while (--units >= 0);
  pollers_.note_brought(did);
  burst_.end();
}

template <typename Done>
void Loop::turn_until(Done done) {
  while (!done()) {
    turn(kForever);
    if (!pollers_.empty() && may_be_quick() && !done()) in_a_turn([&] { quick_turns(done); });
  }
}

void Loop::check_driver(const char* inside) const noexcept {
  WEFT_ASSERT(foreign_ || mailbox_->use().is_run_here_or_nowhere() || mailbox_->in_child(), kRunElsewhere);
  WEFT_ASSERT(!in_turn_, inside);
}

void Loop::run() {
  check_driver("run() inside a turn");
  WEFT_ASSERT(!running_, "run() inside run()");
  const Seat seat{*this};
  running_ = true;
  turn_until([this] { return stop_.load(std::memory_order_seq_cst); });
  // Threads that wait for work which this loop did not reach would wait without end.
  in_a_turn([this] { mailbox_->stop_errands(); });
  stop_.store(false, std::memory_order_seq_cst);
  running_ = false;
  leave_to_foreign_loop();
}

void Loop::stop() {
  stop_.store(true, std::memory_order_seq_cst);
  mailbox_->wake();
}

void Loop::post(detail::UniqueFunction<void()> work) {
  mailbox_->post(std::move(work));
}

bool Loop::run_once(Duration max_wait) {
  const Seat seat{*this};
  const bool did_something = turn(max_wait) > 0;
  leave_to_foreign_loop();
  return did_something;
}

std::size_t Loop::run_until_idle() {
  const Seat seat{*this};
  std::size_t total = 0;
  while (const std::size_t done = turn(Duration::zero())) total += done;
  leave_to_foreign_loop();
  return total;
}

void Loop::turn_until(const bool& done) {
  const Seat seat{*this};
  turn_until([&done] { return done; });
  leave_to_foreign_loop();
}

std::size_t Loop::turn(Duration max_wait) noexcept {
  return in_a_turn([=, this] { return full_turn(max_wait); });
}

std::size_t Loop::full_turn(Duration max_wait) {
  turn_time_.begin();
  ++counters_.turns;
  budget_left_ = options_.turn_budget;
  if (!pollers_.empty()) [[unlikely]]
    after_quick_turns();
  mailbox_->awake();
  std::size_t done = 0;
  if (mailbox_->has_posts()) {
    done = mailbox_->run();
    turn_time_.look_if_close();
  }
  if (turn_time_.has_missed()) [[unlikely]] {
    turn_time_.run_missed([&](detail::Ready& node) {
      schedule(node);
      done += run_ready_within_budget();
      if (!hooks_.empty()) done += hooks_.run();
      turn_time_.did(1);
    });
  }
  done += wait_for_events(done > 0 ? Duration::zero() : max_wait);
  if (!pollers_.empty()) {
    const std::size_t brought = pollers_.ask();
    pollers_.note_brought(brought);
    done += brought;
  }
  done += fire_timers();
  turn_time_.run_later([&](detail::Ready& node) {
    schedule(node);
    done += run_ready_within_budget();
    turn_time_.look_if_close();
  });
  done += run_ready_within_budget();
  if (!hooks_.empty()) done += hooks_.run();
  if (done > 0) turn_time_.was_active();
  return done;
}

// True if the next turn would not sleep. A loop that waits has no spin to be quick in, and postponed work
// needs a full turn.
bool Loop::may_be_quick() const noexcept {
  if (!real_time_ || budget_left_ == 0 || options_.mode == WaitMode::kWait) return false;
  if (turn_time_.has_later() || turn_time_.is_close()) return false;
  return options_.mode == WaitMode::kBusy || turn_time_.was_active_within(options_.spin);
}

void Loop::after_quick_turns() {
  if (burst_.measure(turn_time_.now())) turn_time_.was_active();
  if (pollers_.has_removed()) pollers_.forget_removed();
}

// Asks for events, and sleeps for them when there is nothing else to do. Returns how much was done.
std::size_t Loop::wait_for_events(Duration max_wait) {
  Duration sleep = time_to_sleep(max_wait);
  if (sleep > Duration::zero()) sleep = prepare_to_sleep(sleep);
  if (sleep <= Duration::zero()) {
    // A simulation has a turn for each of its moments, and no events from the kernel.
    if (!real_time_ && !foreign_ && watches() == 0) {
      turn_time_.reported_all(turn_time_.now());
      return 0;
    }
    ++counters_.polls;
    return dispatch_events(Duration::zero());
  }
  ++counters_.sleeps;
  turn_time_.sleep();
  return dispatch_events(sleep) + mailbox_->run();
}

// How long the mode, the work at hand, the timers and the caller let the loop sleep; zero is not at all.
Duration Loop::time_to_sleep(Duration max_wait) {
  if (options_.mode == WaitMode::kBusy || has_work()) return Duration::zero();
  if (options_.mode == WaitMode::kAdaptive && real_time_ && turn_time_.was_active_within(options_.spin))
    return Duration::zero();
  const detail::Timer* timer = timers_.earliest();
  if (timer == nullptr) return max_wait;
  const TimePoint now = turn_time_.now();
  if (!real_time_ && timer->at() > now) return max_wait;
  const Duration left = Deadline{timer->at()}.remaining(now);
  if (left < kAlarmFrom || max_wait <= left) return std::min(max_wait, left);
  // An alarm that is set to an earlier time wakes us in vain, once.
  if (alarm_->time() > timer->at() || alarm_->time() <= now) alarm_->set(timer->at(), clock_);
  return max_wait;
}

// Arms everything that may wake the loop, then looks once more. Gives how long it may sleep; zero: there is
// work after all.
Duration Loop::prepare_to_sleep(Duration at_most) {
  mailbox_->announce_sleep();
  const bool stopping = running_ && stop_.load(std::memory_order_seq_cst);
  const bool may_sleep = mailbox_->empty() && !stopping;
  if (may_sleep && (pollers_.empty() || pollers_.arm(at_most))) return at_most;
  mailbox_->awake();
  return Duration::zero();
}

std::size_t Loop::dispatch_events(Duration timeout) {
  const std::span<const detail::FdEvent> events = fds_->wait(timeout);
  if (timeout > Duration::zero()) {
    mailbox_->awake();
    turn_time_.go_on();
  }
  note_reported(events.size());
  std::size_t reported = 0;
  for (const detail::FdEvent& event : events) {
    detail::FdWatch* watch = watches_->find(event.token);
    if (watch == nullptr) continue;
    const bool internal = watch->internal_;
    if (!internal) ++counters_.reports;
    if (!internal && !watch->tells_company_) turn_time_.company().came(turn_time_.now());
    watch->on_ready(event.readiness);
    if (internal) continue;
    ++reported;
    if (&event != &events.back()) reported += end_report(event.token);
  }
  return reported;
}

// Descriptors with events wait in the kernel's queue, each once. After as many full waits as all descriptors
// can fill, all events from before the first of these waits have been reported.
void Loop::note_reported(std::size_t events) noexcept {
  if (events < detail::FdPoller::kEventsPerWait) [[likely]] {
    full_waits_ = 0;
    return turn_time_.reported_all(turn_time_.began());
  }
  if (full_waits_++ == 0) full_since_ = turn_time_.began();
  if (full_waits_ <= watches() / detail::FdPoller::kEventsPerWait) return;
  full_waits_ = 0;
  turn_time_.reported_all(full_since_);
}

// One descriptor's report to its end before the next one's: its bytes are still in the cache, and its peer
// need not wait for all the others. In a turn that is old the next reports come first.
std::size_t Loop::end_report(std::uint64_t token) {
  const std::size_t ran = turn_time_.is_old() ? 0 : run_ready_within_budget();
  turn_time_.look_if_close();
  if (detail::FdWatch* watch = watches_->find(token)) watch->on_report_end();
  return ran;
}

// A few coroutines are not worth a reading of the clock. With many, an old turn still runs a few. No piece is
// left behind a frame while the loop looks closely, so that a coroutine then begins with a look.
std::size_t Loop::run_ready_within_budget() {
  std::size_t ran = run_entered(std::min(budget_left_, turn_time_.pieces_left()));
  budget_left_ -= ran;
  std::size_t total = ran;
  TimePoint until = TimePoint::max();
  while (has_ready() && budget_left_ > 0) {
    turn_time_.did(ran);
    if (turn_time_.is_old()) {
      until = std::min(until, turn_time_.now() + kReadyAtLeast);
      if (turn_time_.now() >= until) break;
    }
    ran = run_entered(std::min(budget_left_, turn_time_.pieces_left()));
    budget_left_ -= ran;
    total += ran;
  }
  return total;
}

std::size_t Loop::fire_timers() {
  std::size_t fired = 0;
  timers_.collect_due(turn_time_.now());
  for (detail::Timer* timer = timers_.pop_due(); timer != nullptr; timer = timers_.pop_due()) {
    turn_time_.look_if_close();  // a timer is not charged to a handler that ran before it
    timer->loop_ = nullptr;
    if (real_time_) turn_time_.absence().fires(timer->at(), turn_time_.now());
    timer->on_timer();
    ++fired;
  }
  if (fired > 0) turn_time_.look_if_close();
  return fired;
}

}  // namespace weft
