// SPDX-License-Identifier: Apache-2.0
// What simulated devices say of themselves, what can be made of them, and who reaches whom.
#include <cerrno>

#include "unit/verbs/simulated_pair.hpp"

namespace weft::testing {
namespace {

using SimulatedSetup = SimulatedDevices;

TEST_F(SimulatedSetup, TheDeviceListEndsWithNullAndShowsWhatWasConfigured) {
  int count = 0;
  ibv_device** list = rdma.get_device_list(&count);
  EXPECT_EQ(count, 2);
  EXPECT_STREQ(list[1]->name, "sim1");
  EXPECT_EQ(list[2], nullptr);
  ibv_context* context = rdma.open_device(list[1]);
  rdma.free_device_list(list);
  ibv_port_attr port{};
  EXPECT_EQ(rdma.query_port(context, 1, &port), 0);
  EXPECT_EQ(port.link_layer, IBV_LINK_LAYER_ETHERNET);
  EXPECT_EQ(rdma.query_port(context, 2, &port), EINVAL);
  ibv_gid_entry entry{};
  EXPECT_EQ(rdma.query_gid(context, 1, 1, &entry), 0);
  EXPECT_EQ(entry.gid_type, static_cast<std::uint32_t>(IBV_GID_TYPE_ROCE_V2));
  EXPECT_EQ(rdma.query_gid(context, 1, 4, &entry), EINVAL);
  EXPECT_EQ(rdma.close_device(context), 0);
  EXPECT_EQ(rdma.live().total(), 0u);
}

TEST_F(SimulatedSetup, WhatIsInUseCannotBeDestroyedAndEverythingIsCounted) {
  {
    Side a(rdma, {.shared_receives = true});
    EXPECT_EQ(rdma.live(), (SimulatedRdmaObjects{.contexts = 1,
                                                 .domains = 1,
                                                 .regions = 1,
                                                 .channels = 1,
                                                 .completion_queues = 1,
                                                 .receive_queues = 1,
                                                 .queue_pairs = 1}));
    EXPECT_EQ(rdma.dealloc_pd(a.domain), EBUSY);
    EXPECT_EQ(rdma.destroy_cq(a.completions), EBUSY);
    EXPECT_EQ(rdma.destroy_comp_channel(a.channel), EBUSY);
    EXPECT_EQ(rdma.destroy_srq(a.receives), EBUSY);
    EXPECT_EQ(rdma.close_device(a.context), EBUSY);
    expected_faults = {"a device was closed with 6 objects in use"};
  }
  EXPECT_EQ(rdma.live().total(), 0u);
}

TEST_F(SimulatedSetup, AQueuePairGoesThroughItsStatesWithAllAttributesOnly) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  EXPECT_EQ(a.receive(1), EINVAL);
  EXPECT_EQ(a.to(IBV_QPS_INIT), EINVAL);
  EXPECT_EQ(a.to_init(), 0);
  EXPECT_EQ(a.receive(1), 0);
  EXPECT_EQ(a.send(1), EINVAL);
  EXPECT_EQ(a.to_rts(), EINVAL);
  ibv_qp_attr way = a.way_to(b);
  EXPECT_EQ(rdma.modify_qp(a.pair, &way, Side::kRtrMask & ~IBV_QP_RQ_PSN), EINVAL);
  way.ah_attr.is_global = 0;
  EXPECT_EQ(rdma.modify_qp(a.pair, &way, Side::kRtrMask), EINVAL);
  way.ah_attr.is_global = 1;
  way.path_mtu = IBV_MTU_2048;
  EXPECT_EQ(rdma.modify_qp(a.pair, &way, Side::kRtrMask), EINVAL);
  EXPECT_EQ(a.to_rtr(b), 0);
  EXPECT_EQ(a.send(1), EINVAL);
  EXPECT_EQ(a.to_rts(), 0);
  EXPECT_EQ(rdma.state_of(a.pair), IBV_QPS_RTS);
  EXPECT_EQ(a.pair->state, IBV_QPS_RTS);
  EXPECT_EQ(a.to(IBV_QPS_RESET), 0);
  EXPECT_EQ(a.poll(), std::nullopt);
}

TEST_F(SimulatedSetup, APeerThatIsGoneOrAnotherOneIsNotReached) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  Side stranger(rdma);
  connect(a, b);
  EXPECT_EQ(stranger.to_init(), 0);
  EXPECT_EQ(stranger.to_rtr(b), 0);
  EXPECT_EQ(stranger.to_rts(), 0);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(stranger.send(1), 0);
  EXPECT_EQ(stranger.status(), IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(b.to(IBV_QPS_ERR), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_RETRY_EXC_ERR);
}

TEST_F(SimulatedSetup, WorkMayWaitForAPeerThatIsNotReadyYet) {
  rdma.wait_for_peers(true);
  Side a(rdma);
  Side b(rdma, {.device = 1});
  EXPECT_EQ(a.to_init(), 0);
  EXPECT_EQ(b.to_init(), 0);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.to_rtr(b), 0);
  EXPECT_EQ(a.to_rts(), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.poll(), std::nullopt);
  EXPECT_EQ(b.to_rtr(a), 0);
  EXPECT_EQ(a.status(), IBV_WC_SUCCESS);
}

TEST_F(SimulatedSetup, QueuePairsOfOneContextAndInfinibandDevicesConnect) {
  SimulatedRdma fabric({infiniband_device("ib0", 4), infiniband_device("ib1", 5)});
  Side a(fabric);
  Side b(fabric, {.device = 1});
  const auto up = [&](Side& side, Side& peer, std::uint16_t lid) {
    ibv_qp_attr way{};
    way.qp_state = IBV_QPS_RTR;
    way.path_mtu = IBV_MTU_4096;
    way.dest_qp_num = peer.pair->qp_num;
    way.rq_psn = 7;
    way.max_dest_rd_atomic = 1;
    way.ah_attr.port_num = 1;
    way.ah_attr.dlid = lid;
    EXPECT_EQ(side.to_init(), 0);
    EXPECT_EQ(fabric.modify_qp(side.pair, &way, Side::kRtrMask), 0);
    EXPECT_EQ(side.to_rts(), 0);
  };
  up(a, b, 5);
  up(b, a, 4);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_SUCCESS);
}

TEST_F(SimulatedSetup, QueuePairsThatDisagreeOnPacketNumbersOrMtuDoNotTalk) {
  for (const bool numbers : {true, false}) {
    Side a(rdma);
    Side b(rdma, {.device = 1});
    EXPECT_EQ(a.to_init(), 0);
    EXPECT_EQ(b.to_init(), 0);
    EXPECT_EQ(b.receive(1), 0);
    ibv_qp_attr way = b.way_to(a);
    if (numbers) way.rq_psn = 8;
    way.path_mtu = IBV_MTU_256;
    EXPECT_EQ(rdma.modify_qp(b.pair, &way, Side::kRtrMask), 0);
    EXPECT_EQ(a.to_rtr(b), 0);
    EXPECT_EQ(a.to_rts(), 0);
    EXPECT_EQ(a.send(1, 257), 0);
    EXPECT_EQ(a.status(), numbers ? IBV_WC_RETRY_EXC_ERR : IBV_WC_REM_INV_REQ_ERR);
  }
}

TEST_F(SimulatedSetup, TheLimitsOfADeviceAreKept) {
  SimulatedDevice small = roce_device("small", 1);
  small.attributes.max_qp = 1;
  small.attributes.max_cqe = 64;
  small.inline_bytes_max = 64;
  small.ports[0].gids[1].reset();
  SimulatedRdma limited({small});
  Side a(limited);
  ibv_qp_init_attr wanted{};
  wanted.send_cq = wanted.recv_cq = a.completions;
  wanted.qp_type = IBV_QPT_RC;
  EXPECT_EQ(limited.create_qp(a.domain, &wanted), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  wanted.cap.max_inline_data = 65;
  EXPECT_EQ(limited.create_qp(a.domain, &wanted), nullptr);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(limited.create_cq(a.context, 65, nullptr, nullptr, 0), nullptr);
  EXPECT_EQ(errno, EINVAL);
  ibv_gid_entry entry{};
  EXPECT_EQ(limited.query_gid(a.context, 1, 1, &entry), ENODATA);
}

TEST_F(SimulatedSetup, RegisteringMoreThanTheLimitFails) {
  Side a(rdma);
  EXPECT_EQ(rdma.registered_bytes(), 4096u);
  rdma.limit_registered_bytes(64 << 10);
  std::vector<std::byte> large(64 << 10);
  EXPECT_EQ(rdma.reg_mr(a.domain, large.data(), large.size(), IBV_ACCESS_LOCAL_WRITE), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  ibv_mr* small = rdma.reg_mr(a.domain, large.data(), 4096, IBV_ACCESS_LOCAL_WRITE);
  ASSERT_NE(small, nullptr);
  EXPECT_EQ(rdma.dereg_mr(small), 0);
  EXPECT_EQ(rdma.reg_mr(a.domain, large.data(), 4096, IBV_ACCESS_REMOTE_WRITE), nullptr);
}

TEST_F(SimulatedSetup, CallsAndWorkRequestsAreCountedPerDevice) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.send(1, 10, IBV_SEND_INLINE), 0);
  EXPECT_TRUE(b.poll());
  EXPECT_FALSE(b.poll());
  const SimulatedRdmaCounters sender = rdma.counters("sim0");
  EXPECT_EQ(sender.of(Call::kPostSend), 1u);
  EXPECT_EQ(sender.sends_posted, 1u);
  EXPECT_EQ(sender.sends_signalled, 0u);
  EXPECT_EQ(sender.sends_inline, 1u);
  const SimulatedRdmaCounters receiver = rdma.counters("sim1");
  EXPECT_EQ(receiver.receives_posted, 1u);
  EXPECT_EQ(receiver.completions_polled, 1u);
  EXPECT_EQ(receiver.polls_empty, 1u);
  EXPECT_EQ(rdma.counters().of(Call::kPollCq), 2u);
}

}  // namespace
}  // namespace weft::testing
