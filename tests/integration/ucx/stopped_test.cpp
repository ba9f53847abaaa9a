// SPDX-License-Identifier: Apache-2.0
// Peers that are stopped and not dead (SIGSTOP, a debugger, a paused machine), and a side that was stopped
// itself: nobody spins, nobody stands still for long, and nobody is blamed for our own sleep. F1, F4.
#include <algorithm>
#include <cstdio>

#include "integration/deaths_testing.hpp"
#include "integration/ucx/ucx_testing.hpp"
#include "support/thread_use.hpp"

namespace weft::ucx_testing {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kLarge = std::size_t{16} << 20;
constexpr std::size_t kMany = 32;
// Several parts, and little to copy where none of them is under way.
constexpr std::size_t kSomeParts = std::size_t{2} << 20;

using testing::ThreadUse;

/// Turns of a loop, each of which waits for 1 ms at most, and what they cost their thread.
struct Turns {
  long count = 0;
  Duration longest{};
  ThreadUse all;
};

class UcxStopped : public UcxTest {
 protected:
  /// Turns the loop for `time`, and notes the longest turn.
  Duration turn_for(Duration time) {
    Duration longest{};
    const auto end = Clock::now() + time;
    for (auto now = Clock::now(); now < end;) {
      loop().run_once(end - now);
      const auto then = Clock::now();
      longest = std::max<Duration>(longest, then - now);
      now = then;
    }
    return longest;
  }
  /// Turns the loop until `done`.
  template <typename Done>
  Turns turns_until(Done done) {
    Turns turns;
    const ThreadUse begin = ThreadUse::now();
    EXPECT_TRUE(turn_until([&] {
      const ThreadUse before = ThreadUse::now();
      loop().run_once(1ms);
      ++turns.count;
      turns.longest = std::max(turns.longest, ThreadUse::now().since(before).worked);
      return done();
    }));
    turns.all = ThreadUse::now().since(begin);
    return turns;
  }
  template <typename Done>
  static bool turn_until(Done done) {
    const auto patience = Clock::now() + 60s;
    while (!done()) {
      if (Clock::now() > patience) return false;
    }
    return true;
  }
  /// Nothing is done meanwhile, as if this side had been stopped for `time`.
  static void be_stopped_for(Duration time) {
    const auto end = Clock::now() + time;
    EXPECT_TRUE(faults::eventually([&] { return Clock::now() >= end; }));
  }
};

INSTANTIATE_TEST_SUITE_P(Ucx, UcxStopped, ::testing::ValuesIn(kAllKinds), name_of);

void expect_little_used(Duration used, Duration of) {
  const double share = std::chrono::duration<double>(used) / std::chrono::duration<double>(of);
  std::printf("processor beside a stopped peer: %.1f %%\n", share * 100);
  EXPECT_LT(share, 0.1) << "of the processor, for nothing";
}

TEST_P(UcxStopped, AServerCostsItsClientNoProcessorTimeAndGoesOn) {
  Victim victim{WEFT_UCX_VICTIM, {"server", GetParam()}};
  Client caller{loop(), {.connect = victim.read_line(), .logger = &logger()}, transports()};
  ASSERT_NO_FATAL_FAILURE(expect_alive(caller));
  Calls calls{kLarge};
  calls.start(caller);
  for (int turn = 0; turn < 64; ++turn) loop().run_once(0ms);
  victim.stop();
  turn_for(200ms);
  const ThreadUse before = ThreadUse::now();
  turn_for(500ms);
  expect_little_used(ThreadUse::now().since(before).worked, 500ms);
  victim.go_on();
  EXPECT_TRUE(faults::turn_until(loop(), [&] { return calls.large.ended == calls.large.started; }));
  EXPECT_EQ(calls.large.ok, calls.large.started) << calls.large.other;
  victim.kill();
  EXPECT_TRUE(faults::turn_until(loop(), [&] { return calls.ended(); }));
  loop().block_on(faults::join(calls.scope));
}

TEST_P(UcxStopped, AClientCostsItsServerNoProcessorTime) {
  Server& server = serve(transports(), true);
  Victim victim{WEFT_UCX_VICTIM, {"client", GetParam(), server.urls().front()}};
  ASSERT_TRUE(faults::turn_until(loop(), [&] { return server.stats().calls >= 40; }));
  victim.stop();
  turn_for(200ms);
  const ThreadUse before = ThreadUse::now();
  turn_for(500ms);
  expect_little_used(ThreadUse::now().since(before).worked, 500ms);
  victim.go_on();
  const std::uint64_t calls = server.stats().calls;
  EXPECT_TRUE(faults::turn_until(loop(), [&] { return server.stats().calls >= calls + 4; }));
  victim.kill();
  EXPECT_TRUE(faults::turn_until(loop(), [&] { return server.stats().connections == 0; }));
}

double in_ms(Duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

/// One wait on the loop for each call, 50 ms long, would be 1.6 s of work if it polled, or another sleep for
/// each if it slept.
void expect_no_waits_but_the_loops(const Turns& turns) {
  std::printf("%ld turns worked for %.1f ms and slept %ld times, the longest worked for %.1f ms\n",
              turns.count, in_ms(turns.all.worked), turns.all.waits, in_ms(turns.longest));
  // What is taken by force takes 150 ms, and in error mode none the end of its worker besides.
  EXPECT_LT(turns.longest, 500ms);
  EXPECT_LT(turns.all.worked, 1s) << "F1";
  EXPECT_LT(turns.all.waits, turns.count + static_cast<long>(kMany));
}

/// The victim does not know it, so it answers without reading the attachment.
std::uint64_t nobody(CallContext&) {
  return 0;
}

/// Connections to one server that is stopped while each of them is in the middle of an attachment.
class ManyToOneStopped : public UcxStopped {
 protected:
  enum class Asks : std::uint8_t { kForWork, kForNobody };
  explicit ManyToOneStopped(Asks asks = Asks::kForWork)
      : victim_(WEFT_UCX_VICTIM, {"server", GetParam()}), bytes_(pattern(kSomeParts)) {
    const std::string url = victim_.read_line();
    for (std::size_t i = 0; i < kMany; ++i) {
      callers_.push_back(
          std::make_unique<Client>(loop(), ClientOptions{.connect = url, .logger = &logger()}, transports()));
      expect_alive(*callers_.back());
    }
    const CallOptions options{.timeout = asks == Asks::kForNobody ? 600ms : 30s, .attachment = Bytes{bytes_}};
    for (auto& caller : callers_) {
      calls_.push_back(asks == Asks::kForNobody ? caller->start<nobody>(options)
                                                : caller->start<sum_up>(options));
    }
    const bool refused = asks == Asks::kForNobody;
    for (int turn = 0; turn < (refused ? 4 : 24); ++turn) loop().run_once(0ms);
    if (refused) be_stopped_for(50ms);  // the answers are here before any of them is looked at
    victim_.stop();
    if (!refused) turn_for(20ms);
  }
  ~ManyToOneStopped() override {
    calls_.clear();
    callers_.clear();
  }
  void expect_alive_again() {
    victim_.go_on();
    loop().run_once(0ms);  // connections that were given up are not chosen any more
    for (auto& caller : callers_) expect_alive(*caller);
  }

  Victim victim_;
  std::vector<std::byte> bytes_;
  std::vector<std::unique_ptr<Client>> callers_;
  std::vector<Call<std::uint64_t>> calls_;
};

INSTANTIATE_TEST_SUITE_P(Ucx, ManyToOneStopped, ::testing::ValuesIn(kAllKinds), name_of);

struct CancelledCalls {
  Task<void> note(Call<std::uint64_t> call) {
    const Result<std::uint64_t> result = co_await std::move(call);
    ++ended;
    if (result.status().code() == StatusCode::kCancelled || result.ok()) ++cancelled;
    if (result.status().code() == StatusCode::kUnimplemented) ++refused;
  }
  std::size_t ended = 0;
  std::size_t cancelled = 0;
  std::size_t refused = 0;
};
Task<void> note_cancelled(Call<std::uint64_t> call, CancelledCalls* calls) {
  Task<void> noting = calls->note(std::move(call));
  co_await std::move(noting);
}

TEST_P(ManyToOneStopped, CancelledCallsWaitForTheirMemoryAndTheLoopDoesNot) {
  CancelledCalls noted;
  Scope scope;
  const ThreadUse begin = ThreadUse::now();
  for (auto& call : calls_) {
    call.cancel();
    scope.spawn(&note_cancelled, std::move(call), &noted);
  }
  const ThreadUse cancelling = ThreadUse::now().since(begin);
  const Turns turns = turns_until([&] { return noted.ended == kMany; });
  std::printf("cancelling %zu calls: %.1f ms, %ld waits; then ", kMany, in_ms(cancelling.worked),
              cancelling.waits);
  EXPECT_LT(cancelling.worked, 250ms) << "cancelling a call does not wait for its memory";
  EXPECT_LT(cancelling.waits, static_cast<long>(kMany)) << "nor asleep";
  expect_no_waits_but_the_loops(turns);
  EXPECT_EQ(noted.cancelled, kMany);
  loop().block_on(faults::join(scope));
  std::ranges::fill(bytes_, std::byte{0xEE});  // a sanitizer, or a checksum, would tell if it were read
  expect_alive_again();
}

class ManyAnsweredEarly : public ManyToOneStopped {
 protected:
  ManyAnsweredEarly() : ManyToOneStopped(Asks::kForNobody) {}
};

INSTANTIATE_TEST_SUITE_P(Ucx, ManyAnsweredEarly, ::testing::ValuesIn(kAllKinds), name_of);

TEST_P(ManyAnsweredEarly, CallsWaitForTheirMemoryAndTheLoopDoesNot) {
  CancelledCalls noted;
  Scope scope;
  for (auto& call : calls_) scope.spawn(&note_cancelled, std::move(call), &noted);
  const Turns turns = turns_until([&] { return noted.ended == kMany; });
  std::printf("%zu of %zu calls were answered early: ", noted.refused, kMany);
  EXPECT_GT(noted.refused, 0u) << "no answer was early, so nothing was tried";
  expect_no_waits_but_the_loops(turns);
  loop().block_on(faults::join(scope));
  std::ranges::fill(bytes_, std::byte{0xEE});
  expect_alive_again();
}

TEST_P(ManyToOneStopped, DroppedCallsBlockTheLoopForOneDeadlineTogether) {
  const auto begin = Clock::now();
  calls_.clear();
  const Duration blocked = Clock::now() - begin;
  std::printf("dropping %zu calls: %.1f ms\n", kMany, in_ms(blocked));
  EXPECT_LT(blocked, 700ms);
  std::ranges::fill(bytes_, std::byte{0xEE});
  expect_alive_again();
}

TEST_P(UcxStopped, ASideThatWasStoppedItselfDoesNotBlameItsPeer) {
  Server& server = serve(transports());
  ClientOptions options{.connect = server.urls().front(), .logger = &logger()};
  // Long enough for a loaded machine under a sanitizer to get on within it, and less than half of the stop.
  options.limits.frame_timeout = 800ms;
  options.limits.stall_timeout = 800ms;
  options.limits.ping_interval = 800ms;
  Client caller{loop(), options, transports()};
  expect_alive(caller);
  const std::vector<std::byte> sent = pattern(kLarge);
  std::vector<std::byte> landing(kLarge);
  for (int i = 0; i < 3; ++i) {
    Call<std::uint64_t> sending = caller.start<sum_up>({.attachment = Bytes{sent}});
    Call<std::uint64_t> fetching = caller.start<produce>({.landing = landing}, kLarge, 1u);
    for (int turn = 0; turn < i * 16; ++turn) loop().run_once(0ms);
    be_stopped_for(1700ms);
    const Result<std::uint64_t> summed = wait_for(std::move(sending));
    EXPECT_TRUE(summed.ok()) << summed.status().to_string();
    const Result<std::uint64_t> fetched = wait_for(std::move(fetching));
    EXPECT_TRUE(fetched.ok()) << fetched.status().to_string();
  }
  EXPECT_EQ(caller.stats().connections, 1u);
}

TEST_P(UcxStopped, ASideThatWasStoppedWhileUcxCameUpGivesItAnotherChance) {
  Server& server = serve(transports());
  TransportOptions hasty = transports();
  hasty.ucx.bring_up_timeout = 200ms;
  for (const int turns : {2, 4, 8}) {
    Client caller{loop(), {.connect = server.urls().front(), .logger = &logger()}, hasty};
    Call<int> call = caller.start<add>(20, 22);
    for (int turn = 0; turn < turns; ++turn) loop().run_once(1ms);
    be_stopped_for(800ms);
    const Result<int> sum = wait_for(std::move(call));
    EXPECT_TRUE(sum.ok()) << turns << " turns: " << sum.status().to_string();
  }
}

}  // namespace
}  // namespace weft::ucx_testing
