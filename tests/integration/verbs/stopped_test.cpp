// SPDX-License-Identifier: Apache-2.0
// CR-19: peers whose devices stand still while attachments are under way. Calls that are cancelled then wait
// for their memory, and their loop does not.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "integration/verbs/simulated_testing.hpp"
#include "support/thread_use.hpp"

namespace weft::verbs_testing {
namespace {

using testing::ThreadUse;

constexpr std::size_t kMany = 32;
// Little to copy, and registered, so that it is offered.
constexpr std::size_t kAttachmentBytes = std::size_t{256} << 10;

struct CancelledCalls {
  std::size_t ended = 0;
  std::size_t cancelled = 0;
};
Task<void> note_cancelled(weft::Call<std::uint64_t> call, CancelledCalls* calls) {
  const Result<std::uint64_t> result = co_await std::move(call);
  ++calls->ended;
  if (result.status().code() == StatusCode::kCancelled) ++calls->cancelled;
}

/// Connections to one server, each with a call whose attachment is offered and not fetched, for the devices
/// do nothing any more.
class VerbsStopped : public SimulatedTest {
 protected:
  void connect(std::size_t count) {
    Server& server = world.serve(options(), World::Where::kHere);
    for (std::size_t i = 0; i < count; ++i) {
      callers_.push_back(&world.client(server.urls().front(), options()));
      world.expect_alive(*callers_.back());
      leases_.push_back(callers_.back()->register_memory(bytes_).value());
    }
    rdma.hold();
    for (Client* caller : callers_) calls_.push_back(caller->start<sum_up>({.attachment = Bytes{bytes_}}));
    for (int turn = 0; turn < 8; ++turn) loop().run_once(0ms);
  }
  /// Returns what it cost, without a turn of the loop.
  ThreadUse cancel_all() {
    const ThreadUse begin = ThreadUse::now();
    for (auto& call : calls_) {
      call.cancel();
      scope_.spawn(&note_cancelled, std::move(call), &noted_);
    }
    calls_.clear();
    return ThreadUse::now().since(begin);
  }
  /// Turns the loop until all have ended. Returns the longest time that one turn worked.
  Duration longest_turn_until_ended() {
    Duration longest{};
    EXPECT_TRUE(eventually([&] {
      const ThreadUse begin = ThreadUse::now();
      loop().run_once(1ms);
      longest = std::max(longest, ThreadUse::now().since(begin).worked);
      return noted_.ended == callers_.size();
    }));
    EXPECT_EQ(noted_.cancelled, callers_.size());
    loop().block_on(faults::join(scope_));
    return longest;
  }
  /// The memory is the caller's: the devices may go on, and a sanitizer would tell if they read it.
  void expect_alive_without_the_memory() {
    leases_.clear();
    bytes_ = {};
    rdma.release();
    loop().run_once(0ms);  // connections that were given up are not chosen any more
    for (Client* caller : callers_) world.expect_alive(*caller);
  }

  std::vector<std::byte> bytes_ = pattern(kAttachmentBytes);
  std::vector<Client*> callers_;
  std::vector<MemoryLease> leases_;
  std::vector<weft::Call<std::uint64_t>> calls_;
  CancelledCalls noted_;
  Scope scope_;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsStopped, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsStopped, CancelledCallsWaitForTheirMemoryAndTheLoopDoesNot) {
  connect(kMany);
  const ThreadUse cancelling = cancel_all();
  EXPECT_EQ(noted_.ended, 0u);
  const Duration longest = longest_turn_until_ended();
  const auto in_ms = [](Duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::printf("cancelling %zu calls: %.1f ms; the longest turn then %.1f ms\n", kMany,
              in_ms(cancelling.worked), in_ms(longest));
  EXPECT_LT(cancelling.worked, 250ms);
  EXPECT_LT(cancelling.waits, static_cast<long>(kMany)) << "a wait for each, asleep";
  EXPECT_LT(longest, 250ms);
  expect_alive_without_the_memory();
}

// A peer that answers gives the memory back long before it would be taken by force, which costs the
// connection.
TEST_P(VerbsStopped, CancelledCallsHaveTheirMemoryBackAsSoonAsThePeerAnswers) {
  connect(4);
  cancel_all();
  for (int turn = 0; turn < 8; ++turn) loop().run_once(0ms);
  EXPECT_EQ(noted_.ended, 0u) << "nobody can have answered";
  rdma.release();
  longest_turn_until_ended();
  expect_alive_without_the_memory();
  for (const Client* caller : callers_) EXPECT_EQ(caller->stats().connections, 1u);
}

}  // namespace
}  // namespace weft::verbs_testing
