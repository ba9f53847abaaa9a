// SPDX-License-Identifier: Apache-2.0
// CR-19: devices that fail under load. Every call that is under way ends once,
// the client's next one works again, and nothing of the devices is left.
// Capabilities: CR-18.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>

#include "integration/verbs/simulated_testing.hpp"

namespace weft::verbs_testing {
namespace {

constexpr std::size_t kLarge = 200'000;

class VerbsFaults : public SimulatedTest {
 protected:
  VerbsFaults() : server_(world.serve(options(), World::Where::kHere)), caller_(connected()) {}

  Client& connected() {
    Client& made = world.client(server_.urls().front(), options());
    world.expect_alive(made);
    baseline_ = lasting();
    return made;
  }
  /// Counts the objects of a connection, except the memory, which may differ.
  testing::SimulatedRdmaObjects lasting() const {
    testing::SimulatedRdmaObjects live = rdma.live();
    live.regions = 0;
    return live;
  }
  /// Calls of every sort, most of them in the middle of their bytes.
  void start_calls() { start_calls(caller_); }
  void start_calls(Client& caller) {
    const CallOptions patient{.timeout = 20s};
    for (int i = 0; i < 8; ++i) {
      numbers_.push_back(caller.start<wait_for_ever>(patient, i));
      numbers_.push_back(caller.start<add>(patient, i, 1));
      sizes_.push_back(caller.start<sum_up>({.timeout = 20s, .attachment = Bytes{bytes_}}));
      sizes_.push_back(caller.start<produce>({.timeout = 20s, .landing = landings_[i]}, kLarge, 1u));
    }
    for (int turn = 0; turn < 5; ++turn) loop().run_once(0ms);
  }
  template <typename R>
  int expect_ended(std::vector<weft::Call<R>>& calls) {
    int lost = 0;
    for (weft::Call<R>& call : calls) {
      const Result<R> result = world.wait_for(std::move(call));
      if (result.ok()) continue;
      EXPECT_EQ(result.status().code(), StatusCode::kUnavailable) << result.status().to_string();
      ++lost;
    }
    calls.clear();
    return lost;
  }
  /// Expects those of a client that was closed.
  void expect_cancelled() {
    EXPECT_EQ(world.wait_for(std::move(numbers_[0])).status().code(), StatusCode::kCancelled);
    numbers_.clear();
    sizes_.clear();
  }
  /// The connection is lost while calls are under way on it, and made again by the next one.
  void expect_lost_by(const std::function<void()>& fault, const std::function<void()>& mend = {}) {
    const std::uint64_t connections = caller_.stats().connections;
    start_calls();
    fault();
    EXPECT_GE(expect_ended(numbers_), 8) << "nobody would have answered these";
    expect_ended(sizes_);
    if (mend) mend();
    world.expect_alive(caller_);
    EXPECT_EQ(caller_.stats().connections, connections + 1);
    EXPECT_TRUE(turn_until(loop(), [&] { return lasting() == baseline_; })) << "F5";
    EXPECT_EQ(server_.stats().connections, 1u);
  }

  Server& server_;
  testing::SimulatedRdmaObjects baseline_;
  Client& caller_;
  const std::vector<std::byte> bytes_ = pattern(kLarge);
  std::array<std::vector<std::byte>, 8> landings_ = [] {
    std::array<std::vector<std::byte>, 8> made;
    for (auto& landing : made) landing.resize(kLarge);
    return made;
  }();
  std::vector<weft::Call<int>> numbers_;
  std::vector<weft::Call<std::uint64_t>> sizes_;
};

INSTANTIATE_TEST_SUITE_P(Verbs, VerbsFaults, ::testing::ValuesIn(kKinds), name_of);

TEST_P(VerbsFaults, AQueuePairInErrorEndsItsCallsOnceAndTheNextOneWorks) {
  for (const std::size_t side : {0, 1}) {
    expect_lost_by([&] { rdma.force_error(rdma.queue_pairs()[side]); });
    expect_lost_by([&] { rdma.raise_queue_pair_fatal(rdma.queue_pairs()[side]); });
  }
}

TEST_P(VerbsFaults, ADeviceThatFailsEndsItsCallsOnceAndTheNextOneWorks) {
  for (const char* device : {"sim0", "sim1", "sim0"}) {
    expect_lost_by([&] { rdma.raise_device_fatal(device); });
  }
}

TEST_P(VerbsFaults, ACompletionQueueThatFailsEndsItsCallsOnceAndTheNextOneWorks) {
  for (const std::size_t side : {0, 1}) {
    expect_lost_by([&] {
      const std::string device = rdma.queue_pairs("sim0").empty() ? "sim1" : "sim0";
      ibv_async_event event{};
      event.event_type = IBV_EVENT_CQ_ERR;
      event.element.cq = rdma.completion_queues(device)[side];
      rdma.raise(rdma.contexts(device)[side], event);
    });
  }
}

TEST_P(VerbsFaults, APortThatGoesDownEndsItsCallsAndAnotherDeviceTakesOver) {
  expect_lost_by([&] { rdma.set_port_state("sim0", 1, IBV_PORT_DOWN); });
  EXPECT_EQ(rdma.queue_pairs("sim0").size(), 0u);
  rdma.set_port_state("sim0", 1, IBV_PORT_ACTIVE);
  expect_lost_by([&] { rdma.set_port_state("sim1", 1, IBV_PORT_DOWN); });
  EXPECT_EQ(rdma.queue_pairs("sim1").size(), 0u);
}

TEST_P(VerbsFaults, NewsOfADeviceThatHarmNobodyEndNothing) {
  for (const ibv_event_type type : {IBV_EVENT_PORT_ACTIVE, IBV_EVENT_PORT_ERR, IBV_EVENT_LID_CHANGE,
                                    IBV_EVENT_GID_CHANGE, IBV_EVENT_SM_CHANGE}) {
    ibv_async_event event{};
    event.event_type = type;
    event.element.port_num = 1;
    for (ibv_context* context : rdma.contexts()) rdma.raise(context, event);
    world.expect_alive(caller_);
  }
  EXPECT_EQ(caller_.stats().connections, 1u);
}

TEST_P(VerbsFaults, ASendThatFailsEndsItsConnectionAlone) {
  for (const ibv_wc_status status : {IBV_WC_RETRY_EXC_ERR, IBV_WC_RNR_RETRY_EXC_ERR, IBV_WC_LOC_PROT_ERR,
                                     IBV_WC_REM_OP_ERR, IBV_WC_FATAL_ERR, IBV_WC_GENERAL_ERR}) {
    for (const auto effect : {SimulatedRdma::Effect::kNone, SimulatedRdma::Effect::kDone}) {
      expect_lost_by([&] { rdma.complete_send_with(rdma.queue_pairs().front(), status, 2, effect); });
    }
  }
}

TEST_P(VerbsFaults, AReceiveThatFailsEndsItsConnectionAlone) {
  for (const ibv_wc_status status : {IBV_WC_LOC_LEN_ERR, IBV_WC_LOC_PROT_ERR, IBV_WC_GENERAL_ERR}) {
    expect_lost_by([&] { rdma.complete_receive_with(rdma.queue_pairs().back(), status, 2); });
  }
}

TEST_P(VerbsFaults, ADeviceThatRefusesASendEndsItsConnectionAlone) {
  for (const std::uint64_t nth : {1, 2, 7}) {
    expect_lost_by([&] { rdma.fail(Call::kPostSend, ENOMEM, nth); });
  }
}

// The peer was promised it: its message would find no receive, now or much later.
TEST_P(VerbsFaults, AReceiveThatIsRefusedEndsTheConnectionsThatCouldMissIt) {
  for (const std::uint64_t nth : {1, 2, 3, 5, 8, 13, 21}) {
    rdma.fail(Call::kPostSrqRecv, ENOMEM, nth);
    start_calls();
    expect_ended(sizes_);
    numbers_.clear();
    rdma.heal(Call::kPostSrqRecv);
    world.expect_alive(caller_);
    const std::uint64_t before = rdma.counters().rnr_naks;
    start_calls();
    expect_ended(sizes_);
    numbers_.clear();
    EXPECT_EQ(rdma.counters().rnr_naks, before) << "what was refused is still missed";
  }
}

TEST_P(VerbsFaults, ACompletionQueueThatCannotBeAskedEndsItsConnections) {
  expect_lost_by([&] { rdma.fail_every(Call::kPollCq, EIO); }, [&] { rdma.heal(Call::kPollCq); });
}

TEST_P(VerbsFaults, ACompletionChannelThatCannotBeArmedOnlyCostsTime) {
  rdma.fail_every(Call::kReqNotifyCq, EIO);
  for (int i = 0; i < 10; ++i) world.expect_alive(caller_);
  rdma.heal(Call::kReqNotifyCq);
  EXPECT_EQ(caller_.stats().connections, 1u);
}

// The device still has work of a connection that has ended: it touches no memory of it, and what it says
// later is nobody's.
TEST_P(VerbsFaults, CompletionsThatComeAfterTheirConnectionsEndHarmNobody) {
  for (const bool kept : {true, false}) {
    rdma.keep_completions_of_destroyed_pairs(kept);
    const std::vector<ibv_qp*> before = rdma.queue_pairs();
    Client& doomed = connected();
    for (ibv_qp* pair : rdma.queue_pairs()) {
      if (std::ranges::find(before, pair) == before.end()) rdma.hold_completions(pair);
    }
    start_calls(doomed);
    for (ibv_cq* queue : rdma.completion_queues()) rdma.hold_completions(queue);
    doomed.close();
    EXPECT_EQ(world.wait_for(std::move(numbers_[0])).status().code(), StatusCode::kCancelled);
    numbers_.clear();
    sizes_.clear();
    for (ibv_cq* queue : rdma.completion_queues()) rdma.release_completions(queue);
    world.expect_alive(caller_);
    EXPECT_TRUE(turn_until(loop(), [&] { return server_.stats().connections == 1; })) << "F5";
  }
}

// A message has come, wholly or in half, and taken a receive that its queue pair gives back late: after the
// carrier has ended, which was all that used it.
TEST_P(VerbsFaults, AReceiveThatADyingQueuePairHadTakenIsNotLostToTheOthers) {
  VerbsOptions one = options();
  one.devices = {"sim0"};
  Server& server = world.serve(one, World::Where::kHere);
  Client& staying = world.client(server.urls().front(), one);
  world.expect_alive(staying);
  for (int round = 0; round < 10; ++round) {
    rdma.keep_completions_of_destroyed_pairs(round % 2 == 0);
    const std::vector<ibv_qp*> before = rdma.queue_pairs();
    Client& doomed = world.client(server.urls().front(), one);
    world.expect_alive(doomed);
    // The server's shares its receives with one that was there.
    ibv_qp* dying = nullptr;
    for (ibv_qp* pair : rdma.queue_pairs()) {
      const auto shares = [&](const ibv_qp* other) { return other != pair && other->srq == pair->srq; };
      if (std::ranges::find(before, pair) == before.end() && std::ranges::any_of(before, shares))
        dying = pair;
    }
    ASSERT_NE(dying, nullptr);
    const std::size_t there = rdma.receives_waiting(dying->srq);
    ibv_srq* const shared = dying->srq;
    rdma.hold_completions(dying);
    start_calls(doomed);
    EXPECT_LT(rdma.receives_waiting(shared), there);
    doomed.close();
    expect_cancelled();
    ASSERT_TRUE(turn_until(loop(), [&] { return server.stats().connections == 1; })) << "F5";
    rdma.release_completions(dying);
    ASSERT_TRUE(turn_until(loop(), [&] { return rdma.queue_pairs().size() == before.size(); })) << "F5";
    EXPECT_GE(rdma.receives_waiting(shared), there) << "round " << round;
  }
  world.expect_alive(staying);
  EXPECT_EQ(staying.stats().connections, 1u);
}

// Whatever the device says, or leaves out: such a queue pair does not live on for long.
TEST_P(VerbsFaults, AQueuePairThatNeverGivesBackAReceiveEndsAllTheSame) {
  const std::vector<ibv_qp*> before = rdma.queue_pairs();
  Client& doomed = connected();
  for (ibv_qp* pair : rdma.queue_pairs()) {
    if (std::ranges::find(before, pair) == before.end()) rdma.hold_completions(pair);
  }
  start_calls(doomed);
  doomed.close();
  expect_cancelled();
  EXPECT_TRUE(turn_until(loop(), [&] { return rdma.queue_pairs().size() == before.size(); })) << "F5";
  world.expect_alive(caller_);
}

TEST_P(VerbsFaults, ASharedReceiveQueueThatFailsEndsItsConnections) {
  for (const std::size_t side : {0, 1}) {
    expect_lost_by([&] {
      ibv_qp* const pair = rdma.queue_pairs()[side];
      ibv_async_event event{};
      event.event_type = IBV_EVENT_SRQ_ERR;
      event.element.srq = pair->srq;
      rdma.raise(pair->context, event);
    });
  }
}

TEST_P(VerbsFaults, WorkThatIsUnderWayWhenItsConnectionEndsIsNeverExecuted) {
  rdma.hold();
  start_calls();
  caller_.close();
  numbers_.clear();
  sizes_.clear();
  rdma.release();
  EXPECT_TRUE(turn_until(loop(), [&] { return server_.stats().connections == 0; })) << "F5";
  Client& next = world.client(server_.urls().front(), options());
  world.expect_alive(next);
}

}  // namespace
}  // namespace weft::verbs_testing
