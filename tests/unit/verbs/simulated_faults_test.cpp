// SPDX-License-Identifier: Apache-2.0
// What fails, comes late or ends early on simulated devices.
#include <cerrno>
#include <utility>

#include "unit/verbs/simulated_pair.hpp"

namespace weft::testing {
namespace {

using SimulatedFaults = SimulatedDevices;

TEST_F(SimulatedFaults, FiniteRetriesForAReceiveEndWhenTheTestSaysSo) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b, 3);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.send(2), 0);
  rdma.expire_retries();
  EXPECT_EQ(a.status(), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(a.status(), IBV_WC_WR_FLUSH_ERR);
}

TEST_F(SimulatedFaults, FiniteRetriesEndAtOnceWhenTheTestWantsThat) {
  rdma.expire_retries_at_once(true);
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b, 3);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_RNR_RETRY_EXC_ERR);
}

TEST_F(SimulatedFaults, AQueuePairInErrorFlushesItsWorkInOrderAndAllThatComes) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.hold();
  EXPECT_EQ(a.receive(10), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.send(2, 100, 0), 0);
  rdma.force_error(a.pair);
  EXPECT_EQ(a.send(3), 0);
  EXPECT_EQ(a.receive(11), 0);
  for (const std::uint64_t id : {1u, 2u, 10u, 3u, 11u}) {
    const auto wc = a.poll();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
    EXPECT_EQ(wc->wr_id, id);
  }
  EXPECT_EQ(rdma.run(), 0u);
}

TEST_F(SimulatedFaults, ReceivesOfASharedQueueStayWhenAQueuePairFails) {
  Side a(rdma, {.shared_receives = true});
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(a.receive(1), 0);
  rdma.force_error(a.pair);
  EXPECT_EQ(a.event(), IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(a.poll(), std::nullopt);
  EXPECT_EQ(rdma.receives_waiting(a.receives), 1u);
}

TEST_F(SimulatedFaults, TheLimitOfASharedQueueRaisesOneEvent) {
  Side a(rdma);
  Side b(rdma, {.device = 1, .shared_receives = true});
  connect(a, b);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(b.receive(i, 2048, 100), 0);
  EXPECT_EQ(b.receive(8), ENOMEM);
  ibv_srq_attr limit{.max_wr = 0, .max_sge = 0, .srq_limit = 7};
  EXPECT_EQ(rdma.modify_srq(b.receives, &limit, IBV_SRQ_LIMIT), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(b.event(), std::nullopt);
  EXPECT_EQ(a.send(2), 0);
  EXPECT_EQ(b.event(), IBV_EVENT_SRQ_LIMIT_REACHED);
  EXPECT_EQ(a.send(3), 0);
  EXPECT_EQ(b.event(), std::nullopt);
  EXPECT_EQ(b.receive(8), ENOMEM);
  EXPECT_EQ(b.status(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.receive(8), 0);
}

TEST_F(SimulatedFaults, CompletionsOfADestroyedQueuePairStayOrGo) {
  for (const bool keep : {true, false}) {
    rdma.keep_completions_of_destroyed_pairs(keep);
    Side a(rdma);
    Side b(rdma, {.device = 1});
    connect(a, b);
    EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 10)), 0);
    EXPECT_EQ(rdma.destroy_qp(std::exchange(a.pair, nullptr)), 0);
    EXPECT_EQ(a.poll().has_value(), keep);
  }
}

TEST_F(SimulatedFaults, ASharedReceiveLostWithItsQueuePairFreesItsSlot) {
  Side a(rdma);
  Side b(rdma, {.device = 1, .shared_receives = true});
  connect(a, b);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(b.receive(i), 0);
  rdma.hold_completions(b.pair);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(b.receive(8), ENOMEM);
  EXPECT_EQ(rdma.destroy_qp(std::exchange(b.pair, nullptr)), 0);
  EXPECT_EQ(b.poll(), std::nullopt);
  EXPECT_EQ(b.receive(8), 0);
}

TEST_F(SimulatedFaults, WorkOfADestroyedQueuePairNeverTouchesMemory) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.hold();
  EXPECT_EQ(a.remote(IBV_WR_RDMA_READ, b, 0, a.piece(0, 100)), 0);
  const std::vector<std::byte> before = a.bytes;
  EXPECT_EQ(rdma.destroy_qp(std::exchange(a.pair, nullptr)), 0);
  rdma.release();
  EXPECT_EQ(a.bytes, before);
  EXPECT_EQ(a.poll(), std::nullopt);
}

TEST_F(SimulatedFaults, ACompletionQueueThatIsOverrunSaysSo) {
  Side a(rdma, {.completions = 1});
  Side b(rdma, {.device = 1});
  connect(a, b);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  EXPECT_EQ(a.event(), IBV_EVENT_CQ_ERR);
  EXPECT_EQ(a.event(), std::nullopt);
  expected_faults = std::vector<std::string>(2, "a completion queue of 1 entries was overrun");
}

TEST_F(SimulatedFaults, AnEventThatWasGotHasToBeAcknowledged) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.raise_queue_pair_fatal(a.pair);
  ibv_async_event event{};
  EXPECT_EQ(rdma.get_async_event(a.context, &event), 0);
  EXPECT_EQ(event.event_type, IBV_EVENT_QP_FATAL);
  EXPECT_EQ(event.element.qp, a.pair);
  EXPECT_EQ(rdma.destroy_qp(a.pair), EBUSY);
  rdma.ack_async_event(&event);
  expected_faults = {"destroyed with 1 events that were not acknowledged"};
}

TEST_F(SimulatedFaults, HeldWorkExecutesInPostingOrderOrInTheOrderTheTestChooses) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.hold();
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  EXPECT_EQ(b.remote(IBV_WR_RDMA_WRITE, a, 0, b.piece(0, 1)), 0);
  EXPECT_EQ(b.remote(IBV_WR_RDMA_WRITE, a, 0, b.piece(0, 1)), 0);
  EXPECT_TRUE(rdma.step(b.pair));
  EXPECT_TRUE(b.poll() && !a.poll());
  EXPECT_TRUE(rdma.step());
  EXPECT_TRUE(a.poll() && !b.poll());
  EXPECT_EQ(rdma.run(), 1u);
  EXPECT_FALSE(rdma.step());
}

TEST_F(SimulatedFaults, TheWorkOfOneQueuePairIsHeldAlone) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.hold(a.pair);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  EXPECT_EQ(b.remote(IBV_WR_RDMA_WRITE, a, 0, b.piece(0, 1)), 0);
  EXPECT_TRUE(b.poll() && !a.poll());
  rdma.release(a.pair);
  EXPECT_TRUE(a.poll());
}

TEST_F(SimulatedFaults, CompletionsComeLateWhenTheyAreHeld) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.hold_completions(a.pair);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 1000, a.piece(0, 100)), 0);
  EXPECT_TRUE(same(a, 0, b, 1000, 100));
  EXPECT_FALSE(a.poll());
  EXPECT_EQ(ibv_req_notify_cq(a.completions, 0), 0);
  rdma.release_completions(a.pair);
  EXPECT_TRUE(a.completion_event());
  EXPECT_TRUE(a.poll());
  rdma.hold_completions(a.completions);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 1000, a.piece(0, 100)), 0);
  EXPECT_FALSE(a.poll());
  rdma.release_completions(a.completions);
  EXPECT_TRUE(a.poll());
}

TEST_F(SimulatedFaults, WorkWaitsForAPortThatIsDownUntilItIsUpOrRetriesExpire) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.set_port_state("sim1", 1, IBV_PORT_DOWN);
  EXPECT_EQ(b.event(), IBV_EVENT_PORT_ERR);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  EXPECT_FALSE(a.poll());
  rdma.set_port_state("sim1", 1, IBV_PORT_ACTIVE);
  EXPECT_EQ(b.event(), IBV_EVENT_PORT_ACTIVE);
  EXPECT_EQ(a.status(), IBV_WC_SUCCESS);
  rdma.set_port_state("sim0", 1, IBV_PORT_DOWN);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  rdma.expire_retries();
  EXPECT_EQ(a.status(), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(SimulatedFaults, AFatalDeviceFailsAllThatItHas) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(a.receive(1), 0);
  rdma.raise_device_fatal("sim0");
  EXPECT_EQ(a.event(), IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(a.status(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(rdma.state_of(b.pair), IBV_QPS_RTS);
}

TEST_F(SimulatedFaults, TheChosenCallFailsWithTheChosenError) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.fail(Call::kPostSend, EIO, 2);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), EIO);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  rdma.fail_every(Call::kPollCq, EIO);
  ibv_wc wc{};
  EXPECT_EQ(ibv_poll_cq(a.completions, 1, &wc), -1);
  EXPECT_EQ(ibv_poll_cq(a.completions, 1, &wc), -1);
  rdma.heal(Call::kPollCq);
  EXPECT_EQ(ibv_poll_cq(a.completions, 1, &wc), 1);
  rdma.fail(Call::kAllocPd, ENOMEM, 1, "sim0");
  ibv_pd* domain = rdma.alloc_pd(b.context);
  ASSERT_NE(domain, nullptr);
  EXPECT_EQ(rdma.dealloc_pd(domain), 0);
  EXPECT_EQ(rdma.alloc_pd(a.context), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(SimulatedFaults, TheChosenWorkRequestCompletesWithTheChosenStatus) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.complete_send_with(a.pair, IBV_WC_FATAL_ERR, 2, SimulatedRdma::Effect::kDone);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 1000, a.piece(0, 100)), 0);
  EXPECT_EQ(a.status(), IBV_WC_SUCCESS);
  EXPECT_EQ(a.status(), IBV_WC_FATAL_ERR);
  EXPECT_TRUE(same(a, 0, b, 1000, 100));
  EXPECT_EQ(rdma.state_of(a.pair), IBV_QPS_ERR);
}

TEST_F(SimulatedFaults, TheChosenReceiveCompletesWithTheChosenStatus) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.complete_receive_with(b.pair, IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(b.status(), IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(a.status(), IBV_WC_REM_OP_ERR);
}

}  // namespace
}  // namespace weft::testing
