// SPDX-License-Identifier: Apache-2.0
// Makes and ends a loop; enters and removes what its turns look at. The turn itself is in loop.cpp.
#include <sys/timerfd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <type_traits>
#include <utility>

#include "runtime/alarm.hpp"
#include "runtime/fd_poller.hpp"
#include "runtime/internal_watch.hpp"
#include "runtime/watch_table.hpp"
#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/escaped.hpp"
#include "weft/detail/runtime/late_end.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft {

namespace detail {

void callback_threw(const char* callback) noexcept {
  const char* text = "not derived from std::exception";
  try {
    throw;
  } catch (const std::exception& exception) {  // the caller's handler keeps it alive
    text = exception.what();
  } catch (...) {  // NOLINT(bugprone-empty-catch): a foreign type has no text
  }
  std::fprintf(stderr, "weft: the function given to %s must not throw, and threw: %s\n", callback, text);
  std::abort();
}

void exception_escaped(const char* what) noexcept {
  std::fprintf(stderr, "weft: an exception escaped a callback of a loop: %s\n", what);
  std::terminate();
}

}  // namespace detail

namespace {

void check_use(const Loop& loop) noexcept {
  WEFT_ASSERT(detail::is_thread_of(loop),
              "a timer, descriptor or poller of a loop was added, moved or removed while another thread runs "
              "the loop: write loop.post(...), and do it there");
}

Status check(const LoopOptions& options) {
  const char* why = nullptr;
  if (options.turn_budget == 0) {
    why = "LoopOptions::turn_budget: 0 would let no coroutine run; give one or more";
  } else if (options.spin < Duration::zero()) {
    why = "LoopOptions::spin: a negative time; give zero, or use WaitMode::kWait, to sleep at once";
  } else if (options.chunks.chunk_bytes == 0) {
    why = "ChunkPoolOptions::chunk_bytes: 0 has no room for a byte; give some thousands";
  }
  if (why == nullptr) return {};
  return {StatusCode::kInvalidArgument, Layer::kRuntime, why};
}

struct ChosenPoller {
  std::unique_ptr<detail::FdPoller> poller;
  PollerKind kind;
};

// A kernel that refuses a ring is no reason not to run; a build that has none was asked for the impossible.
Result<ChosenPoller> choose_poller(PollerKind wanted) {
  if (wanted == PollerKind::kIoUring) {
    auto uring = detail::make_uring_poller();
    if (uring.ok()) return ChosenPoller{std::move(*uring), PollerKind::kIoUring};
    if (!detail::built_with_uring()) return std::move(uring).status();
  }
  auto epoll = detail::make_epoll_poller();
  if (!epoll.ok()) return std::move(epoll).status();
  return ChosenPoller{std::move(*epoll), PollerKind::kEpoll};
}

}  // namespace

Result<std::unique_ptr<Loop>> Loop::create(const LoopOptions& options) {
  if (const Status misuse = check(options); !misuse.ok()) return misuse;
  auto chosen = choose_poller(options.poller);
  if (!chosen.ok()) return std::move(chosen).status();
  auto mailbox = detail::Mailbox::create();
  if (!mailbox.ok()) return std::move(mailbox).status();
  LoopOptions effective = options;
  effective.poller = chosen->kind;
  std::unique_ptr<Loop> loop{new Loop(effective, std::move(chosen->poller), std::move(*mailbox))};
  Result<void> watched = loop->watch_internals();
  if (!watched.ok()) return std::move(watched).status();
  return loop;
}

Loop::Loop(const LoopOptions& options, std::unique_ptr<detail::FdPoller> fds,
           std::shared_ptr<detail::Mailbox> mailbox)
    : Executor(
          [](const Executor& loop) noexcept { return detail::is_thread_of(static_cast<const Loop&>(loop)); }),
      options_(options),
      clock_(options.clock != nullptr ? *options.clock : detail::steady_clock_source()),
      real_time_(clock_.advances_by_itself()),
      turn_time_(clock_),
      random_(options.seed == 0 && real_time_ ? detail::RandomNumbers::of_system()
                                              : detail::RandomNumbers{options.seed}),
      chunks_(*this, options.chunks),
      fds_(std::move(fds)),
      watches_(std::make_unique<detail::WatchTable>()),
      mailbox_(std::move(mailbox)) {}

Result<void> Loop::watch_internals() {
  detail::Descriptor alarm{::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)};
  if (!alarm) return detail::errno_status(Layer::kRuntime, "making a timer descriptor", errno);
  wakeup_ = std::make_unique<detail::InternalWatch>();
  alarm_ = std::make_unique<detail::Alarm>(std::move(alarm));
  Result<void> watched = watch(*wakeup_, mailbox_->descriptor());
  return watched.ok() ? watch(*alarm_, alarm_->descriptor()) : watched;
}

Loop::~Loop() {
  WEFT_ASSERT(!in_turn_ || mailbox_->in_child(), "a loop was destroyed inside one of its own turns");
  WEFT_ASSERT(!running_ || mailbox_->in_child(), "a loop was destroyed while it runs");
  // The thread that turned it inside a foreign loop may have ended.
  mailbox_->use().set_run_by(nullptr);
  detail::LateEnd::destroy_all(*this);
  pollers_.forget_removed();
  WEFT_ASSERT(pollers_.empty() || mailbox_->in_child(),
              "a loop was destroyed before a poller of it, such as a ucx::Worker");
  WEFT_ASSERT(
      !mailbox_->use().has_residents() || mailbox_->in_child(),
      "a loop was destroyed before a client of it; declare the client after the loop, or destroy it first");
  foreign_ = false;
  // Posted work may own timers, watches and chunks: it is destroyed while the loop is whole.
  mailbox_->end();
  while (detail::Timer* timer = timers_.pop_due()) timer->loop_ = nullptr;
  while (detail::Timer* timer = timers_.earliest()) disarm(*timer);
  watches_->for_each([this](detail::FdWatch& watch) { unwatch(watch); });
}

bool Loop::is_used_here() const noexcept {
  if (current_ != nullptr) return current_ == this;
  return mailbox_->use().is_run_here_or_nowhere();
}

LoopStats Loop::stats() const noexcept {
  LoopStats stats;
  stats.quick_turns = counters_.quick_turns.get();
  stats.turns = counters_.turns.get() + stats.quick_turns;
  stats.polls = counters_.polls.get();
  stats.sleeps = counters_.sleeps.get();
  stats.wakeups = mailbox_->wakeups();
  stats.reports = counters_.reports.get();
  // Another thread must not read the clock of a test.
  if (real_time_ || is_used_here()) stats.busy = turn_time_.busy().until(clock_);
  return stats;
}

std::size_t Loop::watches() const noexcept {
  return watches_->size() - 2;  // without the loop's own
}

std::optional<TimePoint> Loop::next_timer() const noexcept {
  if (timers_.empty()) return std::nullopt;
  return timers_.earliest()->at();
}

void Loop::arm(detail::Timer& timer, TimePoint at) noexcept {
  check_use(*this);
  if (timer.loop_ != nullptr) timer.loop_->disarm(timer);
  timer.loop_ = this;
  timers_.insert(timer, at);
  leave_to_foreign_loop();
}

void Loop::disarm(detail::Timer& timer) noexcept {
  if (timer.loop_ == nullptr) return;
  WEFT_ASSERT(timer.loop_ == this, "a timer was disarmed in another loop than its own");
  check_use(*this);
  timer.loop_ = nullptr;
  timers_.remove(timer);
}

void Loop::at_turn_end(detail::TurnEndHook& hook, bool last) noexcept {
  if (hook.queued()) return;
  hooks_.add(hook, last);
  leave_to_foreign_loop();
}

Result<void> Loop::watch(detail::FdWatch& watch, int fd) {
  check_use(*this);
  WEFT_ASSERT(!watch.watched(), "an FdWatch watches one descriptor at a time");
  try {
    watch.token_ = watches_->add(watch);
  } catch (const std::bad_alloc&) {
    return Status::of<detail::kOutOfMemory>();
  }
  Result<void> watched = fds_->watch(fd, watch.token_);
  if (!watched.ok()) {
    watches_->remove(watch.token_);
    return watched;
  }
  watch.loop_ = this;
  watch.fd_ = fd;
  leave_to_foreign_loop();
  return {};
}

void Loop::unwatch(detail::FdWatch& watch) noexcept {
  if (watch.loop_ == nullptr) return;
  WEFT_ASSERT(watch.loop_ == this, "a descriptor was unwatched in another loop than its own");
  check_use(*this);
  fds_->unwatch(watch.fd_, watch.token_);
  watches_->remove(watch.token_);
  watch.loop_ = nullptr;
}

Result<void> Loop::add_poller(Poller& poller) {
  check_use(*this);
  Result<void> added = pollers_.add(poller, *this);
  if (added.ok()) leave_to_foreign_loop();
  return added;
}

void Loop::remove_poller(Poller& poller) noexcept {
  check_use(*this);
  pollers_.remove(poller, *this);
}

int Loop::descriptor() {
  check_use(*this);
  foreign_ = true;
  leave_to_foreign_loop();
  return fds_->descriptor();
}

void Loop::leave_to_foreign_loop() noexcept {
  if (!foreign_ || in_turn_ || mailbox_->in_child()) return;
  fds_->flush();
  const Duration sleep = has_work() ? Duration::zero() : prepare_to_sleep(kForever);
  if (sleep <= Duration::zero()) mailbox_->signal();
  const detail::Timer* earliest = timers_.earliest();
  TimePoint at = earliest != nullptr && real_time_ ? earliest->at() : TimePoint::max();
  if (sleep > Duration::zero() && real_time_) at = std::min(at, Deadline::after(clock_.now(), sleep).at());
  if (at != alarm_->time()) alarm_->set(at, clock_);
}

void detail::Timer::disarm_at_end() noexcept {
  loop_->disarm(*this);
}

detail::FdWatch::~FdWatch() {
  if (loop_ != nullptr) loop_->unwatch(*this);
}

}  // namespace weft
