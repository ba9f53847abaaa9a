// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/fd_watch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "unit/runtime/loops.hpp"
#include "weft/detail/runtime/poller.hpp"

namespace weft {

using namespace weft::detail;
namespace {

using namespace std::chrono_literals;
using testing::kPatienceMilliseconds;
using testing::make_loop;
using testing::readable;

// Two connected sockets.
class Pair {
 public:
  Pair() {
    WEFT_ASSERT(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends_.data()) == 0,
                "socketpair failed");
  }
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;
  ~Pair() {
    close(0);
    close(1);
  }
  int end(std::size_t which) const { return ends_[which]; }
  void send() const { ASSERT_EQ(::send(ends_[1], "x", 1, MSG_NOSIGNAL), 1); }
  void drain() const {
    char bytes[64];
    while (::recv(ends_[0], bytes, sizeof bytes, 0) > 0) {
    }
  }
  void close(std::size_t which) {
    if (ends_[which] >= 0) ::close(std::exchange(ends_[which], -1));
  }

 private:
  std::array<int, 2> ends_{-1, -1};
};

class Recorder final : public FdWatch {
 public:
  Recorder() = default;
  explicit Recorder(UniqueFunction<void()> action) : action_(std::move(action)) {}
  void on_ready(Readiness readiness) override {
    reports.push_back(readiness);
    if (action_) action_();
  }
  bool saw_readable() const {
    return std::any_of(reports.begin(), reports.end(), [](Readiness r) { return r.readable; });
  }
  using FdWatch::tell_company;
  std::vector<Readiness> reports;

 private:
  UniqueFunction<void()> action_;
};

// Turns until `done()`, or until patience ends.
template <typename Done>
bool turn_until(Loop& loop, Done done) {
  const TimePoint limit = loop.now() + std::chrono::milliseconds{kPatienceMilliseconds};
  while (!done() && loop.now() < limit) loop.run_once(100ms);
  return done();
}

constexpr TimePoint kLongAgo{};

class FdWatches : public testing::EachPoller {};
INSTANTIATE_TEST_SUITE_P(Runtime, FdWatches, testing::each_poller(), testing::poller_name);

TEST_P(FdWatches, ReportWhatIsPossibleNowAndThenEachChange) {
  auto loop = make_loop(with_poller({.mode = WaitMode::kWait}));
  Pair pair;
  Recorder watch;
  ASSERT_TRUE(loop->watch(watch, pair.end(0)).ok());
  EXPECT_EQ(loop->watches(), 1u);
  ASSERT_TRUE(turn_until(*loop, [&] { return !watch.reports.empty(); }));
  EXPECT_TRUE(watch.reports[0].writable);
  EXPECT_FALSE(watch.reports[0].readable);
  for (int round = 0; round < 3; ++round) {
    watch.reports.clear();
    pair.send();
    EXPECT_TRUE(turn_until(*loop, [&] { return watch.saw_readable(); }));
    pair.drain();
  }
  loop->unwatch(watch);
  EXPECT_EQ(loop->watches(), 0u);
}

TEST_P(FdWatches, AreCompanyWhenTheyReportUnlessTheirOwnersTellThat) {
  for (const bool tells : {false, true}) {
    auto loop = make_loop(with_poller({.mode = WaitMode::kWait}));
    Pair pair;
    Recorder watch;
    if (tells) watch.tell_company();
    ASSERT_TRUE(loop->watch(watch, pair.end(0)).ok());
    pair.send();
    ASSERT_TRUE(turn_until(*loop, [&] { return watch.saw_readable(); }));
    EXPECT_EQ(loop->turn_time().company().is_there(kLongAgo), !tells) << "however late it is seen here";
  }
}

TEST_P(FdWatches, AreSilentUntilSomethingNewHappens) {
  auto loop = make_loop(with_poller());
  Pair pair;
  Recorder watch;
  ASSERT_TRUE(loop->watch(watch, pair.end(0)).ok());
  pair.send();
  ASSERT_TRUE(turn_until(*loop, [&] { return watch.saw_readable(); }));
  loop->run_until_idle();
  watch.reports.clear();
  for (int i = 0; i < 10; ++i) loop->run_once(Duration::zero());
  EXPECT_TRUE(watch.reports.empty()) << "unread bytes were reported again";
}

TEST_P(FdWatches, SayThatThePeerHasEnded) {
  auto loop = make_loop(with_poller());
  Pair pair;
  Recorder watch;
  ASSERT_TRUE(loop->watch(watch, pair.end(0)).ok());
  pair.close(1);
  EXPECT_TRUE(turn_until(*loop, [&] { return !watch.reports.empty() && watch.reports.back().hangup; }));
}

TEST_P(FdWatches, AnUnwatchedOneHearsNothingEvenOfEventsAlreadyFetched) {
  auto loop = make_loop(with_poller({.mode = WaitMode::kWait}));
  Pair first_pair, second_pair;
  // Whichever is reported first takes the other away, in both of the ways there are.
  for (const bool destroy : {false, true}) {
    std::unique_ptr<Recorder> first, second;
    const auto take_away = [&](std::unique_ptr<Recorder>& other) {
      if (!other) return;
      loop->unwatch(*other);
      if (destroy) other.reset();
    };
    first = std::make_unique<Recorder>([&] { take_away(second); });
    second = std::make_unique<Recorder>([&] { take_away(first); });
    first_pair.send();
    second_pair.send();
    ASSERT_TRUE(loop->watch(*first, first_pair.end(0)).ok());
    ASSERT_TRUE(loop->watch(*second, second_pair.end(0)).ok());
    const auto reports = [&] {
      return (first ? first->reports.size() : 0) + (second ? second->reports.size() : 0);
    };
    ASSERT_TRUE(turn_until(*loop, [&] { return reports() > 0; }));
    EXPECT_EQ(loop->watches(), 1u);
    EXPECT_EQ(reports(), 1u);
  }
}

TEST_P(FdWatches, ANewWatchInAnOldOnesPlaceIsNotToldOfItsEvents) {
  auto loop = make_loop(with_poller());
  Pair readable_pair, quiet_pair, other_pair;
  Recorder replacement;
  std::unique_ptr<Recorder> old;
  bool replaced = false;
  const auto replace = [&] {
    if (std::exchange(replaced, true)) return;
    old.reset();
    ASSERT_TRUE(loop->watch(replacement, quiet_pair.end(0)).ok());
  };
  Recorder replacing{replace};
  other_pair.send();
  readable_pair.send();
  ASSERT_TRUE(loop->watch(replacing, other_pair.end(0)).ok());
  old = std::make_unique<Recorder>([&] {});
  ASSERT_TRUE(loop->watch(*old, readable_pair.end(0)).ok());
  ASSERT_TRUE(turn_until(*loop, [&] { return !replacement.reports.empty(); }));
  loop->run_until_idle();
  EXPECT_FALSE(replacement.saw_readable()) << "the readable end belonged to the watch before";
}

TEST_P(FdWatches, TheSameDescriptorNumberCanBeWatchedAgainAfterItWasClosed) {
  auto loop = make_loop(with_poller());
  for (int round = 0; round < 20; ++round) {
    Pair pair;
    Recorder watch;
    ASSERT_TRUE(loop->watch(watch, pair.end(0)).ok());
    pair.send();
    ASSERT_TRUE(turn_until(*loop, [&] { return watch.saw_readable(); })) << "round " << round;
    loop->unwatch(watch);
  }
}

TEST_P(FdWatches, MoreReportsThanOneFetchTakesAllArrive) {
  auto loop = make_loop(with_poller());
  constexpr std::size_t kPairs = 400;
  std::vector<std::unique_ptr<Pair>> pairs;
  std::vector<std::unique_ptr<Recorder>> watches;
  for (std::size_t i = 0; i < kPairs; ++i) {
    pairs.push_back(std::make_unique<Pair>());
    watches.push_back(std::make_unique<Recorder>());
    pairs.back()->send();
    ASSERT_TRUE(loop->watch(*watches.back(), pairs.back()->end(0)).ok());
  }
  const auto all = [&] {
    return std::all_of(watches.begin(), watches.end(),
                       [](const auto& watch) { return watch->saw_readable(); });
  };
  EXPECT_TRUE(turn_until(*loop, all));
}

TEST_P(FdWatches, ADescriptorThatIsNotOneIsAFailureAndNotWatched) {
  auto loop = make_loop(with_poller());
  Recorder watch;
  const Result<void> watched = loop->watch(watch, 1'000'000);
  EXPECT_EQ(watched.status().native(), EBADF);
  EXPECT_FALSE(watch.watched());
  EXPECT_EQ(loop->watches(), 0u);
}

TEST_P(FdWatches, OneThatOutlivesTheLoopIsUnlinkedFromIt) {
  auto loop = make_loop(with_poller());
  Pair pair;
  Recorder watch;
  ASSERT_TRUE(loop->watch(watch, pair.end(0)).ok());
  loop.reset();
  EXPECT_FALSE(watch.watched());
}

// What a foreign event loop sees: poll() on the descriptor, then run_once(0).
class ForeignLoop : public testing::EachPoller {
 protected:
  void SetUp() override {
    EachPoller::SetUp();
    if (IsSkipped()) return;
    loop = make_loop(with_poller());
    fd = loop->descriptor();
    loop->run_until_idle();
  }
  void expect_quiet() {
    loop->run_until_idle();
    EXPECT_FALSE(readable(fd)) << "readable without anything to do";
  }

  std::unique_ptr<Loop> loop;
  int fd = -1;
};
INSTANTIATE_TEST_SUITE_P(Runtime, ForeignLoop, testing::each_poller(), testing::poller_name);

TEST_P(ForeignLoop, IsToldOfWorkPostedByAnotherThread) {
  expect_quiet();
  int ran = 0;
  for (int round = 1; round <= 3; ++round) {
    std::thread{[&] { loop->post([&] { ++ran; }); }}.join();
    ASSERT_TRUE(readable(fd, kPatienceMilliseconds));
    EXPECT_TRUE(loop->run_once(Duration::zero()));
    EXPECT_EQ(ran, round);
    expect_quiet();
  }
}

TEST_P(ForeignLoop, IsToldOfDescriptors) {
  Pair pair;
  Recorder watch;
  ASSERT_TRUE(loop->watch(watch, pair.end(0)).ok());
  expect_quiet();
  watch.reports.clear();
  pair.send();
  ASSERT_TRUE(readable(fd, kPatienceMilliseconds));
  loop->run_once(Duration::zero());
  EXPECT_TRUE(watch.saw_readable());
  expect_quiet();
}

class StopTimer final : public Timer {
 public:
  void on_timer() override { fired = true; }
  bool fired = false;
};

TEST_P(ForeignLoop, IsToldOfTimersAlsoOfThoseArmedBetweenTurns) {
  StopTimer late, timer;
  loop->arm(late, loop->now() + 1h);
  expect_quiet();
  loop->arm(timer, loop->now() + 2ms);
  while (!timer.fired && readable(fd, kPatienceMilliseconds)) loop->run_once(Duration::zero());
  EXPECT_TRUE(timer.fired);
  EXPECT_FALSE(late.fired);
  expect_quiet();
}

// The system's clock, once read a while before its answer is used.
class StaleClock final : public Clock {
 public:
  TimePoint now() override { return detail::steady_clock_source().now() - std::exchange(behind, Duration{}); }
  bool advances_by_itself() const override { return true; }
  Duration behind{};
};

TEST_P(ForeignLoop, IsToldAgainOfATimerThatWasNotYetDueInTheTurnThatHeardOfIt) {
  StaleClock clock;
  auto its = make_loop(with_poller({.clock = &clock}));
  const int descriptor = its->descriptor();
  its->run_until_idle();
  StopTimer timer;
  its->arm(timer, its->now() + 2ms);
  ASSERT_TRUE(readable(descriptor, kPatienceMilliseconds));
  clock.behind = 1h;
  its->run_once(Duration::zero());
  EXPECT_FALSE(timer.fired);
  while (!timer.fired && readable(descriptor, kPatienceMilliseconds)) its->run_once(Duration::zero());
  EXPECT_TRUE(timer.fired);
}

TEST_P(ForeignLoop, IsToldOfWorkThatIsLeftOver) {
  auto small = make_loop(with_poller({.turn_budget = 1}));
  const int descriptor = small->descriptor();
  small->run_until_idle();
  int ran = 0;
  struct Counting : Ready {
    explicit Counting(int& count)
        : Ready([](Ready* self) noexcept { ++static_cast<Counting*>(self)->counter; }), counter(count) {}
    int& counter;
  };
  Counting first{ran}, second{ran};
  small->post([&] {
    small->schedule(first);
    small->schedule(second);
  });
  ASSERT_TRUE(readable(descriptor));
  small->run_once(Duration::zero());
  EXPECT_EQ(ran, 1);
  ASSERT_TRUE(readable(descriptor)) << "one coroutine was left ready";
  small->run_once(Duration::zero());
  EXPECT_EQ(ran, 2);
}

// A completion queue as UCX and verbs have it: armed, it makes a pipe readable.
class FakeQueue final : public Poller {
 public:
  std::size_t poll() override {
    ++polls;
    if (on_poll) on_poll();
    return std::exchange(pending, 0);
  }
  bool arm() override {
    ++arms;
    return pending == 0;
  }
  int descriptor() const override { return has_descriptor ? pair.end(0) : -1; }
  Duration patience() const override { return asked_again_after; }

  Pair pair;
  UniqueFunction<void()> on_poll;
  std::size_t pending = 0;
  int polls = 0;
  int arms = 0;
  bool has_descriptor = true;
  Duration asked_again_after = Duration::max();
};

TEST_P(ForeignLoop, IsToldThatAPollerHasWorkAfterAll) {
  FakeQueue queue;
  ASSERT_TRUE(loop->add_poller(queue).ok());
  expect_quiet();
  queue.pending = 1;
  loop->run_once(Duration::zero());
  queue.pending = 2;
  loop->run_once(Duration::zero());
  EXPECT_EQ(queue.pending, 0u);
  loop->remove_poller(queue);
}

TEST_P(ForeignLoop, IsToldThatAPollerWantsToBeAskedAgainLater) {
  FakeQueue queue;
  queue.asked_again_after = 1ms;
  ASSERT_TRUE(loop->add_poller(queue).ok());
  loop->run_once(Duration::zero());
  loop->run_once(Duration::zero());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(readable(fd, kPatienceMilliseconds));
    loop->run_once(Duration::zero());
  }
  loop->remove_poller(queue);
}

class Pollers : public testing::EachPoller {};
INSTANTIATE_TEST_SUITE_P(Runtime, Pollers, testing::each_poller(), testing::poller_name);

TEST_P(Pollers, AreAskedInEachTurnAndArmedBeforeASleep) {
  auto loop = make_loop(with_poller({.mode = WaitMode::kWait}));
  FakeQueue queue;
  ASSERT_TRUE(loop->add_poller(queue).ok());
  loop->run_until_idle();
  EXPECT_EQ(queue.arms, 0);
  const int polls = queue.polls;
  queue.pending = 3;
  EXPECT_TRUE(loop->run_once(Loop::kForever)) << "arm() said that there is work, so it did not sleep";
  EXPECT_EQ(queue.arms, 1);
  EXPECT_EQ(queue.polls, polls + 1);
  EXPECT_EQ(loop->stats().sleeps, 0u);
  loop->run_once(Loop::kForever);
  EXPECT_EQ(queue.arms, 1) << "armed though nobody asked it for the rest";
  queue.pair.send();
  loop->run_once(Loop::kForever);
  EXPECT_EQ(queue.arms, 2);
  EXPECT_EQ(loop->stats().sleeps, 0u) << "its descriptor was readable, so it is asked once more";
  loop->run_once(std::chrono::milliseconds{1});
  EXPECT_EQ(queue.arms, 3);
  EXPECT_EQ(loop->stats().sleeps, 1u);
  loop->remove_poller(queue);
}

TEST_P(Pollers, AreAskedAgainAfterAsLongAsTheyLikeAndTheLoopSleepsMeanwhile) {
  auto loop = make_loop(with_poller({.mode = WaitMode::kWait}));
  FakeQueue queue, patient;
  queue.asked_again_after = 1ms;
  ASSERT_TRUE(loop->add_poller(patient).ok());
  ASSERT_TRUE(loop->add_poller(queue).ok());
  loop->run_until_idle();
  const int polls = queue.polls;
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(loop->run_once(Loop::kForever)) << "there is nothing to do";
  EXPECT_EQ(loop->stats().sleeps, 3u);
  EXPECT_EQ(queue.polls, polls + 3);
  loop->remove_poller(queue);
  loop->remove_poller(patient);
}

TEST_P(Pollers, OneWithoutADescriptorKeepsTheLoopAwake) {
  auto loop = make_loop(with_poller({.mode = WaitMode::kWait}));
  FakeQueue queue;
  queue.has_descriptor = false;
  ASSERT_TRUE(loop->add_poller(queue).ok());
  for (int i = 0; i < 10; ++i) loop->run_once(Loop::kForever);
  EXPECT_EQ(loop->stats().sleeps, 0u);
  EXPECT_EQ(queue.polls, 10);
  loop->remove_poller(queue);
}

TEST_P(Pollers, MayBeRemovedWhileTheyAreAsked) {
  auto loop = make_loop(with_poller());
  FakeQueue first, second;
  first.on_poll = [&] {
    loop->remove_poller(first);
    loop->remove_poller(second);
  };
  ASSERT_TRUE(loop->add_poller(first).ok());
  ASSERT_TRUE(loop->add_poller(second).ok());
  loop->run_once(Duration::zero());
  loop->run_once(Duration::zero());
  EXPECT_EQ(first.polls, 1);
  EXPECT_EQ(second.polls, 0);
  EXPECT_EQ(loop->watches(), 0u);
}

}  // namespace
}  // namespace weft
