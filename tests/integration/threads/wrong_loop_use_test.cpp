// SPDX-License-Identifier: Apache-2.0
// The process ends with a message when a thread uses a loop that another thread runs, or an object of that
// loop. tests/checks/thread_rules.txt names these tests.
#include <unistd.h>

#include "integration/threads/misuse.hpp"
#include "weft/detail/coro/scope.hpp"
#include "weft/detail/runtime/loop_state.hpp"
#include "weft/detail/runtime/on_worker.hpp"
#include "weft/detail/runtime/sleep.hpp"
#include "weft/detail/runtime/with_deadline.hpp"

namespace weft::testing::wrong_loop_use_tests {
namespace {

constexpr const char* kOfTheLoop =
    "was added, moved or removed while another thread runs the loop: write loop.post";
constexpr const char* kDriven = "a loop was driven while another thread runs it";

Task<void> sleep_long(int) {
  static_cast<void>(co_await sleep_for(1h));
}

struct SomeTimer final : detail::Timer {
  void on_timer() override {}
};
struct SomeWatch final : detail::FdWatch {
  void on_ready(detail::Readiness) override {}
};
struct SomePoller final : Poller {
  std::size_t poll() override { return 0; }
  bool arm() override { return true; }
  int descriptor() const override { return -1; }
};

void nothing_at_all() {}
Task<void> work_on(WorkerPool* pool) {
  static_cast<void>(co_await on_worker(*pool, &nothing_at_all));
}
Task<void> sleep_within(Deadline deadline) {
  static_cast<void>(co_await with_deadline(deadline, sleep_long(1)));
}

const Misuse kLoopMisuses[] = {
    {"LoopRuns", [](Loop& loop) { loop.run(); }, kDriven},
    {"LoopRunsOnce", [](Loop& loop) { loop.run_once(0s); }, kDriven},
    {"LoopRunsUntilIdle", [](Loop& loop) { loop.run_until_idle(); }, kDriven},
    {"LoopBlocksOn", [](Loop& loop) { static_cast<void>(loop.block_on(sleep_for(1h))); }, kDriven},
    {"LoopArms",
     [](Loop& loop) {
       SomeTimer timer;
       loop.arm(timer, TimePoint::max());
     },
     kOfTheLoop},
    {"LoopDisarms",
     [](Loop& loop) {
       SomeTimer timer;
       run_on(loop, [&] { loop.arm(timer, TimePoint::max()); });
       loop.disarm(timer);
     },
     kOfTheLoop},
    {"LoopWatches",
     [](Loop& loop) {
       SomeWatch watch;
       static_cast<void>(loop.watch(watch, STDIN_FILENO));
     },
     kOfTheLoop},
    {"LoopUnwatches",
     [](Loop& loop) {
       int ends[2];
       ASSERT_EQ(::pipe(ends), 0);
       SomeWatch watch;
       run_on(loop, [&] { loop.watch(watch, ends[0]).value(); });
       loop.unwatch(watch);
     },
     kOfTheLoop},
    {"LoopAddsAPoller",
     [](Loop& loop) {
       SomePoller poller;
       static_cast<void>(loop.add_poller(poller));
     },
     kOfTheLoop},
    {"LoopRemovesAPoller",
     [](Loop& loop) {
       SomePoller poller;
       loop.remove_poller(poller);
     },
     kOfTheLoop},
    {"LoopGivesItsDescriptor", [](Loop& loop) { loop.descriptor(); }, kOfTheLoop},
    {"CancelScopeOfASleepIsCancelled",
     [](Loop& loop) {
       Scope scope;
       run_on(loop, [&] { scope.spawn(&sleep_long, 1); });
       scope.cancel_scope().cancel(CancelReason::kRequested);
     },
     kOfTheLoop},
    {"TaskThatSleepsIsDestroyed",
     [](Loop& loop) {
       Scope scope;
       run_on(loop, [&] { scope.spawn(&sleep_long, 1); });
       scope.drop_all();
     },
     kOfTheLoop},
};

const Misuse kMisusesOutsideOfATurn[] = {
    {"LoopStateIsReadElsewhere", [](Loop&) { loop_state<int>(); }, "outside of a loop's turn"},
    {"SleepOutsideOfATurn",
     [](Loop&) {
       Scope scope;
       scope.spawn(&sleep_long, 1);
     },
     "needs a turn of a Loop"},
    {"OnWorkerOutsideOfATurn",
     [](Loop&) {
       const auto pool = WorkerPool::start({.threads = 1}).value();
       Scope scope;
       scope.spawn(&work_on, pool.get());
     },
     "on_worker\\(\\) is awaited inside a turn"},
    {"WithDeadlineOutsideOfATurn",
     [](Loop&) {
       Scope scope;
       scope.spawn(&sleep_within, Deadline{});
     },
     "with_deadline\\(\\) runs inside a turn"},
};

class WrongLoopUseDeathTest : public ::testing::TestWithParam<Misuse> {};

TEST_P(WrongLoopUseDeathTest, EndsTheProcessWithAMessage) {
  expect_death_by(GetParam());
}

INSTANTIATE_TEST_SUITE_P(Loops, WrongLoopUseDeathTest, ::testing::ValuesIn(kLoopMisuses), name_of_misuse);
INSTANTIATE_TEST_SUITE_P(Turns, WrongLoopUseDeathTest, ::testing::ValuesIn(kMisusesOutsideOfATurn),
                         name_of_misuse);

}  // namespace
}  // namespace weft::testing::wrong_loop_use_tests
