// SPDX-License-Identifier: Apache-2.0
// What simulated devices do with work requests, and how they tell of it, is what libibverbs and the
// InfiniBand specification say.
#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "unit/verbs/simulated_pair.hpp"

namespace weft::testing {
namespace {

TEST_F(SimulatedDevices, ASendArrivesInAReceiveWithBothCompletions) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(b.receive(5), 0);
  ibv_send_wr request = a.request(9, IBV_WR_SEND_WITH_IMM);
  request.imm_data = 77;
  EXPECT_EQ(a.post(request, a.piece(0, 100)), 0);
  const auto sent = a.poll();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->wr_id, 9u);
  EXPECT_EQ(sent->opcode, IBV_WC_SEND);
  EXPECT_EQ(sent->qp_num, a.pair->qp_num);
  const auto got = b.poll();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->status, IBV_WC_SUCCESS);
  EXPECT_EQ(got->wr_id, 5u);
  EXPECT_EQ(got->opcode, IBV_WC_RECV);
  EXPECT_EQ(got->byte_len, 100u);
  EXPECT_EQ(got->imm_data, 77u);
  EXPECT_EQ(got->wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_TRUE(same(a, 0, b, 2048, 100));
}

TEST_F(SimulatedDevices, PiecesAreGatheredAndScattered) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  ibv_sge into[] = {b.piece(2048, 30), b.piece(3000, 100)};
  ibv_recv_wr receive{.wr_id = 1, .next = nullptr, .sg_list = into, .num_sge = 2};
  ibv_recv_wr* bad_receive = nullptr;
  EXPECT_EQ(ibv_post_recv(b.pair, &receive, &bad_receive), 0);
  ibv_sge from[] = {a.piece(0, 50), a.piece(200, 50)};
  ibv_send_wr request = a.request(1);
  request.sg_list = from;
  request.num_sge = 2;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(a.pair, &request, &bad), 0);
  EXPECT_TRUE(same(a, 0, b, 2048, 30) && same(a, 30, b, 3000, 20) && same(a, 200, b, 3020, 50));
  request.num_sge = 3;
  EXPECT_EQ(ibv_post_send(a.pair, &request, &bad), EINVAL);
}

TEST_F(SimulatedDevices, MemoryIsWrittenAndReadFromAfar) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 1000, a.piece(0, 200)), 0);
  EXPECT_EQ(a.poll()->opcode, IBV_WC_RDMA_WRITE);
  EXPECT_TRUE(same(a, 0, b, 1000, 200));
  EXPECT_EQ(b.poll(), std::nullopt);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_READ, b, 3000, a.piece(2000, 200)), 0);
  EXPECT_EQ(a.poll()->byte_len, 200u);
  EXPECT_TRUE(same(a, 2000, b, 3000, 200));
  EXPECT_EQ(b.receive(3), 0);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE_WITH_IMM, b, 500, a.piece(0, 10)), 0);
  const auto got = b.poll();
  ASSERT_TRUE(got);
  EXPECT_EQ(got->opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(got->byte_len, 10u);
  EXPECT_EQ(rdma.counters("sim0").moved_bytes, 410u);
}

TEST_F(SimulatedDevices, AtomicsChangeAWordAndBringItsOldValue) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  const auto word = [&](Side& side) {
    std::uint64_t value = 0;
    std::memcpy(&value, side.bytes.data(), sizeof value);
    return value;
  };
  const std::uint64_t start = word(b);
  ibv_send_wr request = a.request(1, IBV_WR_ATOMIC_FETCH_AND_ADD);
  request.wr.atomic = {.remote_addr = b.address(0), .compare_add = 5, .swap = 0, .rkey = b.region->rkey};
  EXPECT_EQ(a.post(request, a.piece(0, 8)), 0);
  EXPECT_EQ(a.poll()->opcode, IBV_WC_FETCH_ADD);
  EXPECT_EQ(word(a), start);
  EXPECT_EQ(word(b), start + 5);
  request.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  request.wr.atomic.compare_add = start + 5;
  request.wr.atomic.swap = 99;
  EXPECT_EQ(a.post(request, a.piece(0, 8)), 0);
  EXPECT_EQ(a.status(), IBV_WC_SUCCESS);
  EXPECT_EQ(word(a), start + 5);
  EXPECT_EQ(word(b), 99u);
  request.wr.atomic.remote_addr = b.address(4);
  EXPECT_EQ(a.post(request, a.piece(0, 8)), 0);
  EXPECT_EQ(a.status(), IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(b.event(), IBV_EVENT_QP_REQ_ERR);
}

TEST_F(SimulatedDevices, InlineDataIsCopiedWhenItIsPosted) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.hold();
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.send(1, 65, IBV_SEND_INLINE), EINVAL);
  EXPECT_EQ(a.send(1, 64, IBV_SEND_INLINE), 0);
  const std::vector<std::byte> before = a.bytes;
  std::fill(a.bytes.begin(), a.bytes.end(), std::byte{0});
  EXPECT_TRUE(rdma.step());
  EXPECT_TRUE(std::equal(before.begin(), before.begin() + 64, b.bytes.begin() + 2048));
  EXPECT_EQ(rdma.counters("sim0").inline_bytes, 64u);
}

TEST_F(SimulatedDevices, ASendQueueSlotIsFreeWhenACompletionThatCoversItWasPolled) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 0)), 0);
  ibv_send_wr last = a.request(2, IBV_WR_RDMA_WRITE);
  ibv_send_wr more = a.request(3, IBV_WR_RDMA_WRITE);
  last.next = &more;
  ibv_send_wr* bad = nullptr;
  EXPECT_EQ(ibv_post_send(a.pair, &last, &bad), ENOMEM);
  EXPECT_EQ(bad, &more);
  EXPECT_EQ(a.status(), IBV_WC_SUCCESS);
  EXPECT_EQ(ibv_post_send(a.pair, &more, &bad), 0);
  EXPECT_EQ(ibv_post_send(a.pair, &more, &bad), ENOMEM);
}

TEST_F(SimulatedDevices, UnsignalledWorkFreesItsSlotsWithALaterCompletion) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  for (std::uint64_t i = 0; i < 8; ++i) {
    EXPECT_EQ(b.receive(i, 2048, 100), 0);
    EXPECT_EQ(a.send(i, 100, i == 7 ? IBV_SEND_SIGNALED : 0), 0);
  }
  EXPECT_EQ(a.send(8), ENOMEM);
  EXPECT_EQ(a.poll()->wr_id, 7u);
  EXPECT_EQ(a.poll(), std::nullopt);
  for (std::uint64_t i = 0; i < 8; ++i) EXPECT_EQ(a.send(i), 0);
  EXPECT_EQ(rdma.sends_waiting(a.pair), 8u);
  EXPECT_EQ(rdma.counters().rnr_naks, 1u);
}

TEST_F(SimulatedDevices, MemoryOutsideOfARegionIsRefusedAtTheSideThatNamedIt) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.post(a.request(1), {.addr = a.address(4000), .length = 97, .lkey = a.region->lkey}), 0);
  EXPECT_EQ(a.status(), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(rdma.state_of(a.pair), IBV_QPS_ERR);
  EXPECT_EQ(rdma.state_of(b.pair), IBV_QPS_RTS);
}

TEST_F(SimulatedDevices, AReceiveWithoutAKeyToItsMemoryFailsAtBothSides) {
  Side a(rdma);
  Side b(rdma, {.device = 1, .region_access = 0});
  connect(a, b);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(b.status(), IBV_WC_LOC_PROT_ERR);
}

TEST_F(SimulatedDevices, AWrongRemoteKeyIsRefusedAndPutsBothSidesIntoError) {
  for (const int wrong : {0, 1, 2}) {
    Side a(rdma);
    Side b(rdma, {.device = 1});
    connect(a, b);
    ibv_send_wr request = a.request(1, IBV_WR_RDMA_WRITE);
    request.wr.rdma.remote_addr = b.address(wrong == 0 ? 4090 : 0);
    request.wr.rdma.rkey = wrong == 1 ? b.region->lkey : wrong == 2 ? a.region->rkey : b.region->rkey;
    EXPECT_EQ(a.post(request, a.piece(0, 10)), 0);
    EXPECT_EQ(a.status(), IBV_WC_REM_ACCESS_ERR);
    EXPECT_EQ(rdma.state_of(b.pair), IBV_QPS_ERR);
    EXPECT_EQ(b.event(), IBV_EVENT_QP_ACCESS_ERR);
  }
}

TEST_F(SimulatedDevices, AQueuePairWithoutTheAccessRightRefusesTheRequest) {
  Side a(rdma);
  Side b(rdma, {.device = 1, .access = IBV_ACCESS_REMOTE_READ});
  connect(a, b);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 10)), 0);
  EXPECT_EQ(a.status(), IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(SimulatedDevices, AMessageLongerThanItsReceiveFailsAtBothSides) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(b.receive(1, 2048, 99), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(b.status(), IBV_WC_LOC_LEN_ERR);
}

TEST_F(SimulatedDevices, AMessageWithoutAReceiveWaitsAndIsCountedOnce) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b, 7);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.send(2), 0);
  rdma.expire_retries();
  EXPECT_EQ(a.poll(), std::nullopt);
  EXPECT_EQ(rdma.counters("sim0").rnr_naks, 1u);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_SUCCESS);
  EXPECT_EQ(b.status(), IBV_WC_SUCCESS);
}

TEST_F(SimulatedDevices, AnArmedQueueTellsOfTheFirstCompletionAfterArmingOnly) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  const auto write = [&] { EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0); };
  write();
  EXPECT_EQ(ibv_req_notify_cq(a.completions, 0), 0);
  EXPECT_FALSE(a.completion_event());
  EXPECT_EQ(errno, EAGAIN);
  write();
  write();
  pollfd readable{.fd = a.channel->fd, .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
  EXPECT_TRUE(a.completion_event());
  EXPECT_FALSE(a.completion_event());
  EXPECT_EQ(::poll(&readable, 1, 0), 0);
}

TEST_F(SimulatedDevices, ArmedForSolicitedOnesAQueueTellsOfThoseAndOfErrors) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  for (std::uint64_t i = 0; i < 3; ++i) EXPECT_EQ(b.receive(i), 0);
  EXPECT_EQ(ibv_req_notify_cq(b.completions, 1), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_FALSE(b.completion_event());
  EXPECT_EQ(a.send(1, 100, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), 0);
  EXPECT_TRUE(b.completion_event());
  EXPECT_EQ(ibv_req_notify_cq(b.completions, 1), 0);
  rdma.force_error(b.pair);
  EXPECT_TRUE(b.completion_event());
}

TEST_F(SimulatedDevices, TwoThreadsTalkAndOneSleepsUntilTheCompletionComes) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  constexpr int kMessages = 200;
  EXPECT_EQ(::fcntl(b.channel->fd, F_SETFL, 0), 0);
  std::thread receiver([&] {
    for (int got = 0; got < kMessages;) {
      EXPECT_EQ(ibv_req_notify_cq(b.completions, 0), 0);
      EXPECT_EQ(b.receive(1), 0);
      EXPECT_TRUE(b.completion_event());
      while (b.poll()) ++got;
    }
  });
  for (int sent = 0; sent < kMessages;) {
    if (a.send(1) == 0) ++sent;
    while (a.poll()) continue;
  }
  receiver.join();
}

}  // namespace
}  // namespace weft::testing
