// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/runtime/absence.hpp"
#include "weft/detail/runtime/busy_time.hpp"
#include "weft/detail/runtime/clock.hpp"
#include "weft/detail/runtime/company.hpp"
#include "weft/detail/runtime/held_loop.hpp"

namespace weft::detail {

/// The time that a loop's turn has taken, and the work postponed to a later turn because of it.
///
/// Reading the clock for each small piece of work (a frame, a coroutine) would cost a good part of the piece.
/// So pieces are counted, and the clock is read after a number of them: one at first, up to kPiecesMax while
/// they are short, fewer where earlier pieces took longer than kBetweenLooks.
///
/// The times between these readings also tell whether a piece held the loop up (HeldLoopWatch). The first one
/// that did may have been any of several. For kLooksCloselyFor after it the clock is read after each piece,
/// so that the next one is known.
///
/// Thread: the loop's.
class TurnTime {
 public:
  static constexpr std::size_t kPiecesMax = 32;
  /// Pieces are counted so that the clock is looked at about as often, if each takes as long as the last
  /// ones.
  static constexpr Duration kBetweenLooks = std::chrono::microseconds{50};
  /// A turn that is so old begins nothing new that can wait, and looks at the timers.
  static constexpr Duration kOld = std::chrono::milliseconds{1};
  static constexpr Duration kLooksCloselyFor = std::chrono::seconds{10};

  explicit TurnTime(Clock& clock) noexcept : clock_(clock) {}

  /// A turn begins right behind the last one, unless rest() came in between.
  void begin() noexcept {
    const TimePoint now = clock_.now();
    if (now - looked_ >= held_from_) [[unlikely]] {
      was_held(now - looked_);
    }
    if (counts_busy_ && !busy_.is_awake()) [[unlikely]] {
      busy_.wake(now);
    }
    begin_at(now);
  }
  /// The turn sleeps now, and has done nothing before.
  void sleep() noexcept {
    if (busy_.is_awake()) busy_.sleep(now_);
  }
  /// The turn goes on after it slept.
  void go_on() noexcept {
    const TimePoint now = clock_.now();
    if (counts_busy_) busy_.wake(now);
    begin_at(now);
  }
  /// The loop is not driven for a while.
  void rest() noexcept {
    TimePoint until = now_;
    if (held_from_ != Duration::max()) {
      until = clock_.now();
      const Duration lasted = until - looked_;
      if (lasted >= held_from_) [[unlikely]] {
        was_held(lasted);
      }
    }
    looked_ = TimePoint::max();
    if (busy_.is_awake()) busy_.sleep(until);
  }
  /// Counts the busy time from the next turn on.
  void count_busy() noexcept { counts_busy_ = true; }
  /// Quick turns begin, which do not look at the clock.
  void be_quick() noexcept { quick_ = true; }
  /// Returns the time of the turn; looks at the clock in a quick turn.
  TimePoint recent() noexcept { return quick_ ? read() : now_; }
  /// The time in turns without the time asleep. Thread of until(): any.
  const BusyTime& busy() const noexcept { return busy_; }
  /// The time as of the last look.
  TimePoint now() const noexcept { return now_; }
  /// Looks at the clock.
  TimePoint read() noexcept {
    now_ = clock_.now();
    old_ = now_ - began_ >= kOld;
    return now_;
  }

  /// Number of pieces until the next reading of the clock. Code that does some may count them down here, and
  /// calls look_if_due() afterwards.
  std::size_t& pieces_left() noexcept { return left_; }
  void look_if_due() noexcept {
    if (left_ == 0) [[unlikely]] {
      look();
    }
  }
  /// Counts pieces that were done.
  void did(std::size_t pieces) noexcept {
    if (pieces >= left_) [[unlikely]] {
      return look();
    }
    left_ -= pieces;
  }
  /// The kernel has been asked for events: all events until `at` have been reported.
  void reported_all(TimePoint at) noexcept {
    reported_before_ = reported_;
    reported_ = at;
  }
  /// Returns the time until which all events of descriptors have been reported.
  TimePoint reported() const noexcept { return reported_; }
  /// Returns reported() as it was before the last reports: their events came after it.
  TimePoint reported_before() const noexcept { return reported_before_; }
  TimePoint began() const noexcept { return began_; }
  /// The loop did something, as of now().
  void was_active() noexcept { active_ = now_; }
  bool was_active_within(Duration time) const noexcept { return now_ - active_ < time; }

  bool is_old() const noexcept { return old_; }
  /// The turn had lasted so long when the clock was looked at last.
  bool has_lasted(Duration time) const noexcept { return now_ - began_ >= time; }

  /// Notes that the work of `what` was begun, for HeldLoop. Thread of begun_last(): any.
  void note_begun(const void* what) noexcept { begun_last_.store(what, std::memory_order_relaxed); }
  const void* begun_last() const noexcept { return begun_last_.load(std::memory_order_relaxed); }
  /// Tells `watch` of each time of at least `from`, or of another watch's time that is shorter.
  void watch_holds(HeldLoopWatch& watch, Duration from) noexcept {
    held_from_ = std::min(held_from_, from);
    watches_.push_back(watch);
  }
  /// A piece held the loop up lately.
  bool is_close() const noexcept { return close_; }
  /// Reads the clock before other work begins, if a piece held the loop up lately.
  void look_if_close() noexcept {
    if (close_) [[unlikely]] {
      look();
    }
  }

  /// Knows whether the loop was recently blocked, for code that judges a peer by time.
  Absence& absence() noexcept { return absence_; }
  /// Knows whether other frames would wait behind a long transfer.
  Company& company() noexcept { return company_; }

  /// Runs `node` in a later turn, behind all nodes postponed before. It must not be queued.
  void put_off(Ready& node) noexcept { later_.push_back(node); }
  /// Does the same for work whose first part this turn did not reach: the next turn runs it before it takes
  /// new events.
  void miss(Ready& node) noexcept { missed_.push_back(node); }
  bool has_missed() const noexcept { return !missed_.empty(); }
  bool has_later() const noexcept { return !later_.empty() || !missed_.empty(); }
  /// Passes each node that is missed now to `run`, in order, until the turn is old. The rest keep their
  /// places before nodes missed meanwhile.
  template <typename Run>
  void run_missed(Run run) {
    Nodes due;
    due.splice_back(missed_);
    while (!due.empty() && !is_old()) run(due.pop_front());
    due.splice_back(missed_);
    missed_.splice_back(due);
  }
  /// Passes each node that is postponed now to `run`, in order: the first, and others as long as the turn is
  /// not old. The rest keep their places before nodes postponed meanwhile.
  template <typename Run>
  void run_later(Run run) {
    if (later_.empty()) [[likely]] {
      return;
    }
    Nodes due;
    due.splice_back(later_);
    while (!due.empty()) {
      run(due.pop_front());
      if (is_old()) break;
    }
    due.splice_back(later_);
    later_.splice_back(due);
  }

 private:
  using Nodes = IntrusiveList<Ready, ReadyTag>;

  [[gnu::cold]] [[gnu::noinline]] void look() noexcept {
    const Duration took = read() - looked_;
    looked_ = now_;
    if (took >= held_from_) was_held(took);
    note_begun(nullptr);
    if (close_) {
      close_ = now_ < close_until_;
      pieces_ = 1;
    } else if (took > kBetweenLooks) {
      pieces_ = std::max<std::size_t>(pieces_ / 2, 1);
    } else if (took < kBetweenLooks / 2) {
      pieces_ = std::min(pieces_ * 2, kPiecesMax);
    }
    left_ = pieces_;
  }
  void begin_at(TimePoint now) noexcept {
    began_ = looked_ = now_ = now;
    left_ = pieces_;
    old_ = false;
    quick_ = false;
    note_begun(nullptr);
  }
  [[gnu::cold]] [[gnu::noinline]] void was_held(Duration lasted) noexcept {
    const HeldLoop held{lasted, begun_last(), close_};
    watches_.for_each([&held](HeldLoopWatch& watch) { watch.on_held(held); });
    close_ = true;
    close_until_ = clock_.now() + kLooksCloselyFor;
    pieces_ = left_ = 1;
  }

  Clock& clock_;
  TimePoint began_{};
  /// Beginning of the time that the next look measures; the maximum between two drives of the loop.
  TimePoint looked_ = TimePoint::max();
  TimePoint now_{};
  TimePoint active_{};
  TimePoint reported_{};
  TimePoint reported_before_{};
  std::size_t pieces_ = 1;
  std::size_t left_ = 1;
  bool old_ = false;
  bool quick_ = false;
  bool counts_busy_ = false;
  bool close_ = false;
  TimePoint close_until_{};
  Duration held_from_ = Duration::max();
  std::atomic<const void*> begun_last_ = nullptr;
  BusyTime busy_;
  IntrusiveList<HeldLoopWatch, HeldLoopTag> watches_;
  Absence absence_;
  Company company_;
  Nodes later_;
  Nodes missed_;
};

}  // namespace weft::detail
