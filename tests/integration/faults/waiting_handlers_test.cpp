// SPDX-License-Identifier: Apache-2.0
// Faults, part "resources": as many handlers wait on one connection as may, and all of them end at once.
// Others are served meanwhile, and nothing of them is left.
#include <malloc.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "integration/faults/faults_testing.hpp"
#include "integration/faults/hostile_peer.hpp"
#include "weft/detail/coro/event.hpp"

namespace weft::faults::waiting_handlers_tests {

using namespace weft::detail;
namespace {

constexpr std::uint64_t kHandlers = 65'000;

std::int64_t cpu_time_us() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

/// Handlers that wait for one event, or their cancel.
struct Waiting {
  Event open;
  std::uint64_t inside = 0;
  std::uint64_t passed = 0;
  std::uint64_t cancelled = 0;

  Task<int> wait(int number) {
    ++inside;
    const Result<void> outcome = co_await open.wait();
    --inside;
    ++(outcome.ok() ? passed : cancelled);
    co_return number;
  }
};

class WaitingHandlers : public StillFaultTest {
 protected:
  void SetUp() override {
    // The memory of the calls is not returned to the system in the turn that is measured: that takes 9 ms for
    // 80 MB.
    ::mallopt(M_TRIM_THRESHOLD, 1 << 30);
    server_ = &serve({}, [this](Server& its) {
      its.register_handler<&add>();
      its.register_handler<&Waiting::wait>(&waiting_);
    });
    honest_ = &client();
    ASSERT_TRUE(wait_for(honest_->start<&add>(1, 2)).ok());
    // From the first call that does not wait for its connection on, one timer of the client serves them all.
    ASSERT_TRUE(wait_for(honest_->start<&add>(1, 2)).ok());
    timers_ = loop().timers_armed();
    peer_.emplace(server_->urls().front());
    ASSERT_TRUE(peer_->send(hello_bytes()));
    std::string requests;
    for (std::uint64_t id = 1; id <= kHandlers; ++id) {
      requests += request_bytes<&Waiting::wait>(id, 7);
      if (id % 500 != 0) continue;
      ASSERT_TRUE(peer_->send(requests));
      requests.clear();
      loop().run_until_idle();
    }
    ASSERT_TRUE(turn_until(loop(), [&] { return waiting_.inside == kHandlers; }));
  }
  /// Turns the loop until all handlers have ended; an honest call goes on beside them.
  void end(const char* how) {
    Tally tally;
    Scope scope;
    scope.spawn(&count_end<int>, honest_->start<&add>(3, 4), 7, &tally);
    std::int64_t longest = 0;
    int turns = 0;
    for (; waiting_.inside > 0 && turns < 1'000'000; ++turns) {
      const std::int64_t begun = cpu_time_us();
      loop().run_once(1ms);
      longest = std::max(longest, cpu_time_us() - begun);
    }
    EXPECT_EQ(waiting_.passed + waiting_.cancelled, kHandlers);
    loop().block_on(join(scope));
    EXPECT_EQ(tally.right, 1);
    std::printf("%s: %d turns, the longest took %lld us of the processor\n", how, turns,
                static_cast<long long>(longest));
  }

  Waiting waiting_;
  Server* server_ = nullptr;
  Client* honest_ = nullptr;
  std::optional<HostilePeer> peer_;
  std::size_t timers_ = 0;
};

TEST_F(WaitingHandlers, ThatLoseTheirConnectionTogetherAreAllCancelledAndLeaveNothing) {
  peer_->reset();
  end("a lost connection");
  EXPECT_EQ(waiting_.cancelled, kHandlers);
  EXPECT_TRUE(turn_until(loop(), [&] { return server_->stats().connections == 1; }));
  EXPECT_EQ(server_->stats().calls_running, 0u);
  EXPECT_EQ(loop().timers_armed(), timers_);
}

TEST_F(WaitingHandlers, ThatGoOnTogetherAreAllAnswered) {
  waiting_.open.set();
  end("an event");
  EXPECT_EQ(waiting_.passed, kHandlers);
  EXPECT_EQ(server_->stats().calls_running, 0u);
}

}  // namespace
}  // namespace weft::faults::waiting_handlers_tests
