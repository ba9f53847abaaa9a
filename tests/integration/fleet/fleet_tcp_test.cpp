// SPDX-License-Identifier: Apache-2.0
// CR-13: a fleet over real sockets, with servers on threads of their own.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <latch>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "integration/rpc/rpc_testing.hpp"
#include "support/heap_count.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/runtime/loop_thread.hpp"

namespace weft::testing::fleet_tests {
namespace {

std::uint32_t twice(std::uint32_t number) {
  return number * 2;
}
inline constexpr auto twice_again = idempotent<twice>;

int not_served(int number) {
  return number;
}

Result<int> refused(int /*number*/) {
  return user_error(7, "not today");
}

/// Gives back what came with the call.
std::size_t echo_attached(CallContext& context) {
  context.set_attachment(Buffer::copy_of(context.attachment()));
  return context.attachment().size();
}

class FleetsOverSockets : public RpcTest {
 protected:
  ~FleetsOverSockets() override { fleet_.reset(); }

  void start(std::size_t at) {
    const std::string url = urls_[at].empty() ? kAnyPort : urls_[at];
    replicas_[at] = std::make_unique<Server>(ServerOptions{.listen = {url}, .threads = 1});
    replicas_[at]->register_handler<twice, refused, echo_attached>();
    replicas_[at]->start().value();
    urls_[at] = replicas_[at]->urls().front();
  }
  FleetClient& make() {
    FleetOptions options;
    options.name = "static:";
    for (const std::string& url : urls_) options.name += (url == urls_.front() ? "" : ",") + url;
    fleet_ = std::make_unique<FleetClient>(loop(), std::move(options));
    fleet_->register_handler<twice>();  // its servers may call it too, for which each pool takes memory
    return *fleet_;
  }

  struct Load {
    FleetClient* fleet = nullptr;
    bool stops = false;
    std::size_t answered = 0;
    std::vector<Status> failures{};
  };
  static Task<void> call_on(Load* load) {
    const FleetCallOptions options{.call = {.timeout = 60s}};
    for (std::uint32_t number = 0; !load->stops; ++number) {
      auto call = load->fleet->call<twice_again>(options, number);
      Result<std::uint32_t> answer = co_await std::move(call);
      if (answer.ok() && *answer == number * 2) {
        ++load->answered;
      } else {
        load->failures.push_back(answer.ok() ? Status{StatusCode::kInternal, Layer::kRpc, "wrong"}
                                             : answer.status());
      }
    }
  }

  static constexpr std::size_t kServers = 4;
  std::array<std::string, kServers> urls_;
  std::array<std::unique_ptr<Server>, kServers> replicas_;
  std::unique_ptr<FleetClient> fleet_;
};

TEST_F(FleetsOverSockets, FailNoIdempotentCallWhileServersAreStoppedAndStartedInTurn) {
  for (std::size_t i = 0; i < kServers; ++i) start(i);
  Load load{.fleet = &make()};
  Scope scope;
  loop().post([&] {
    for (int caller = 0; caller < 16; ++caller) scope.spawn(&FleetsOverSockets::call_on, &load);
  });
  const auto answers = [&](std::size_t more) {
    const std::size_t goal = load.answered + more;
    ASSERT_TRUE(turn_until(loop(), [&] { return load.answered >= goal || !load.failures.empty(); }));
  };
  answers(500);
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < kServers; ++i) {
      replicas_[i].reset();
      answers(500);
      start(i);
      answers(500);
    }
  }
  load.stops = true;
  ASSERT_TRUE(turn_until(loop(), [&] { return scope.count() == 0; }));
  EXPECT_TRUE(load.failures.empty()) << load.failures.front().to_string();
  EXPECT_EQ(fleet_->stats().calls_in_flight, 0u);
}

/// A handler that answers nothing until it is cancelled.
struct Hung {
  Event never;
  Task<std::uint32_t> twice(std::uint32_t number) {
    static_cast<void>(co_await never.wait());
    co_return number * 2;
  }
};

/// Calls of 1.5 s, some of which were begun after the first of them had timed out.
struct ShortCalls {
  using Twice = std::uint32_t(std::uint32_t);

  static Task<void> make_some(FleetClient* fleet, ShortCalls* outcome) {
    const FleetCallOptions options{.call = {.timeout = kTimeout}};
    for (std::uint32_t number = 0; number < 4; ++number) {
      const bool later = outcome->failed != 0;
      auto call = fleet->call<remote<"twice_or_never", Twice>>(options, number);
      const Result<std::uint32_t> answer = co_await std::move(call);
      outcome->failed += answer.ok() ? 0 : 1;
      outcome->later += later ? 1 : 0;
      outcome->later_failed += later && !answer.ok() ? 1 : 0;
    }
    --outcome->callers;
  }

  static constexpr Duration kTimeout = std::chrono::milliseconds{1500};
  int callers = 0;
  int failed = 0;
  int later = 0;
  int later_failed = 0;
};

TEST_F(FleetsOverSockets, LeaveHungServersToTheirSilenceAfterOneTimeout) {
  std::array<Hung, kServers> hung;
  for (std::size_t at = 0; at < kServers; ++at) {
    replicas_[at] = std::make_unique<Server>(ServerOptions{.listen = {kAnyPort}, .threads = 1});
    if (at % 2 == 0) {
      replicas_[at]->register_handler<method<twice, "twice_or_never">>();
    } else {
      replicas_[at]->register_handler<method<&Hung::twice, "twice_or_never">>(&hung[at]);
    }
    replicas_[at]->start().value();
    urls_[at] = replicas_[at]->urls().front();
  }
  FleetClient& fleet = make();
  ShortCalls outcome;
  Scope scope;
  const auto calls = [&](int callers) {
    outcome.callers = callers;
    loop().post([&, callers] {
      for (int caller = 0; caller < callers; ++caller) scope.spawn(&ShortCalls::make_some, &fleet, &outcome);
    });
    EXPECT_TRUE(turn_until(loop(), [&] { return outcome.callers == 0; }));
  };
  // Servers that were connected sooner may take all calls of a round.
  for (int round = 0; round < 1000 && outcome.failed == 0; ++round) calls(16);
  EXPECT_GT(outcome.failed, 0) << "a call finds out";
  outcome.later = outcome.later_failed = 0;
  calls(16);
  EXPECT_EQ(outcome.later, 64);
  EXPECT_EQ(outcome.later_failed, 0);
  fleet_.reset();
  for (auto& replica : replicas_) replica.reset();
}

TEST_F(FleetsOverSockets, SayWhichServerFailedACall) {
  for (std::size_t i = 0; i < kServers; ++i) start(i);
  FleetClient& fleet = make();
  const Status failure = loop().block_on(fleet.call<not_served>(1)).status();
  EXPECT_EQ(failure.code(), StatusCode::kUnimplemented);
  EXPECT_TRUE(std::ranges::any_of(urls_, [&](const std::string& url) {
    return failure.message().starts_with(url + ": ");
  })) << failure.to_string();
}

TEST_F(FleetsOverSockets, GiveTheAttachmentOfAnAnswerThatIsAskedForBehindTheCall) {
  for (std::size_t i = 0; i < kServers; ++i) start(i);
  FleetClient& fleet = make();
  const std::vector<std::byte> bytes(300'000, std::byte{7});
  const FleetCallOptions with_bytes{.call = {.attachment = Bytes{bytes}}};
  const auto answer = loop().block_on(fleet.call<echo_attached>(with_bytes).with_attachment());
  ASSERT_TRUE(answer.ok()) << answer.status().to_string();
  EXPECT_EQ(answer->value, bytes.size());
  ASSERT_EQ(answer->attachment.size(), bytes.size());
  EXPECT_TRUE(std::ranges::equal(answer->attachment.bytes(), bytes));
  auto kept = fleet.call<twice>(4u);
  auto [empty, moved] = loop().block_on(when_all(fleet.call<twice>(3u).with_attachment(), std::move(kept)));
  EXPECT_EQ(empty.value().value, 6u);
  EXPECT_TRUE(empty->attachment.empty());
  EXPECT_EQ(moved.value(), 8u);
}

TEST_F(FleetsOverSockets, LeaveAHandlersOwnFailureAsItIs) {
  for (std::size_t i = 0; i < kServers; ++i) start(i);
  const Status failure = loop().block_on(make().call<refused>(1)).status();
  EXPECT_EQ(failure.native(), 7);
  EXPECT_EQ(failure.message(), "not today");
}

TEST_F(FleetsOverSockets, EndCallsInFlightWithTheClient) {
  for (std::size_t i = 0; i < kServers; ++i) start(i);
  Load load{.fleet = &make()};
  Scope scope;
  loop().post([&] {
    for (int caller = 0; caller < 16; ++caller) scope.spawn(&FleetsOverSockets::call_on, &load);
  });
  ASSERT_TRUE(turn_until(loop(), [&] { return load.answered >= 100; }));
  load.stops = true;
  fleet_.reset();
  ASSERT_TRUE(turn_until(loop(), [&] { return scope.count() == 0; }));
  for (const Status& failure : load.failures) EXPECT_EQ(failure.code(), StatusCode::kCancelled);
}

// A death test's child has the thread that makes the mistake only, so each makes its own.
class FleetThreadDeathTest : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::FLAGS_gtest_death_test_style = "threadsafe"; }

  /// Uses a fleet while another thread runs its loop.
  template <typename Use>
  static void use_elsewhere(Use use) {
    auto thread = LoopThread::start().value();
    FleetOptions options;
    options.name = "static:tcp://127.0.0.1:1";
    auto fleet = std::make_unique<FleetClient>(thread->loop(), std::move(options));
    std::latch runs{1};
    thread->post([&] { runs.count_down(); });
    runs.wait();
    use(fleet);
  }
};

TEST_F(FleetThreadDeathTest, EveryUseOnTheWrongThreadIsTold) {
  using Fleet = std::unique_ptr<FleetClient>;
  constexpr const char* kWords = "fleet.loop\\(\\).post";
  EXPECT_DEATH(use_elsewhere([](Fleet& fleet) { fleet->close(); }), kWords);
  EXPECT_DEATH(use_elsewhere([](Fleet& fleet) { fleet->stats(); }), kWords);
  EXPECT_DEATH(use_elsewhere([](Fleet& fleet) { fleet->endpoint_stats(); }), kWords);
  EXPECT_DEATH(use_elsewhere([](Fleet& fleet) { fleet.reset(); }),
               "destroyed while another thread runs its loop: stop that loop first");
  EXPECT_DEATH(use_elsewhere([](Fleet& fleet) {
                 static_cast<void>(Loop::create().value()->block_on(fleet->call<twice_again>(1u)));
               }),
               kWords);
}

Task<void> call_often(FleetClient* fleet, std::size_t* allocations, bool* done) {
  for (std::uint32_t number = 0; number < 2000; ++number) {
    if (number == 1000) *allocations = heap_allocations();
    auto call = fleet->call<twice_again>(number);
    Result<std::uint32_t> answer = co_await std::move(call);
    EXPECT_TRUE(answer.ok());
  }
  *allocations = heap_allocations() - *allocations;
  *done = true;
}

TEST_F(FleetsOverSockets, TakeNoMemoryForACallOnceTheyAreWarm) {
  if (!kHeapIsCounted) GTEST_SKIP() << "a sanitizer has the heap";
  for (std::size_t i = 0; i < kServers; ++i) start(i);
  make();
  std::size_t allocations = 0;
  bool done = false;
  Scope scope;
  loop().post([&] { scope.spawn(&call_often, fleet_.get(), &allocations, &done); });
  ASSERT_TRUE(turn_until(loop(), [&] { return done && scope.count() == 0; }));
  // A connection of the servers may grow a buffer meanwhile, and no call does.
  EXPECT_LT(allocations, 50u) << "for 1000 calls";
}

struct Lean {
  bool answered = false;
  bool ended = false;
};

/// Calls, while one allocation of this thread fails: the `which`-th from here on, 0 = none.
Task<void> call_with_little_memory(FleetClient* fleet, std::size_t which, Lean* lean) {
  const FleetCallOptions options{.call = {.timeout = 20s}};
  fail_allocation(which);
  try {
    auto call = fleet->call<twice_again>(options, 21u);
    const Result<std::uint32_t> answer = co_await std::move(call);
    lean->answered = answer.ok();
  } catch (const std::bad_alloc&) {
    lean->answered = false;
  }
  lean->ended = true;
}

TEST_F(FleetsOverSockets, SurviveEveryAllocationThatFails) {
  if (!kHeapIsCounted) GTEST_SKIP() << "a sanitizer has the heap";
  const MallocsFailToo each_kind;
  for (std::size_t i = 0; i < kServers; ++i) start(i);
  bool reached = true;
  std::size_t which = 1;
  for (; reached && which < 1000; ++which) {
    make();
    ASSERT_TRUE(turn_until(loop(), [&] { return fleet_->stats().lists == 1; }));
    for (const bool fails : {true, false}) {
      Lean lean;
      Scope scope;
      loop().post([&] { scope.spawn(&call_with_little_memory, fleet_.get(), fails ? which : 0, &lean); });
      ASSERT_TRUE(turn_until(loop(), [&] { return lean.ended && scope.count() == 0; })) << which;
      if (fails) {
        reached = !allocation_still_to_fail();
        fail_allocation(0);
      } else {
        EXPECT_TRUE(lean.answered) << which;
      }
    }
    EXPECT_EQ(fleet_->stats().calls_in_flight, 0u);
    fleet_.reset();
  }
  EXPECT_GT(which, 10u);
}

}  // namespace
}  // namespace weft::testing::fleet_tests
