// SPDX-License-Identifier: Apache-2.0
// The simulated devices behave as libibverbs and the InfiniBand specification say, so that tests may rely on
// them.
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "unit/verbs/simulated_pair.hpp"

namespace weft::testing {
namespace {

class SimulatedRdmaTest : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(rdma.faults(), expected_faults); }

  SimulatedRdma rdma{{roce_device("sim0", 1), roce_device("sim1", 2)}};
  std::vector<std::string> expected_faults;
};

bool same(const Side& a, std::size_t at, const Side& b, std::size_t there, std::size_t length) {
  return std::equal(a.bytes.begin() + static_cast<std::ptrdiff_t>(at),
                    a.bytes.begin() + static_cast<std::ptrdiff_t>(at + length),
                    b.bytes.begin() + static_cast<std::ptrdiff_t>(there));
}

TEST_F(SimulatedRdmaTest, the_device_list_ends_with_null_and_shows_what_was_configured) {
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

TEST_F(SimulatedRdmaTest, what_is_in_use_cannot_be_destroyed_and_everything_is_counted) {
  {
    Side a(rdma, {.shared_receives = true});
    EXPECT_EQ(rdma.live(), (SimulatedRdmaObjects{0, 1, 1, 1, 1, 1, 1, 1}));
    EXPECT_EQ(rdma.dealloc_pd(a.domain), EBUSY);
    EXPECT_EQ(rdma.destroy_cq(a.completions), EBUSY);
    EXPECT_EQ(rdma.destroy_comp_channel(a.channel), EBUSY);
    EXPECT_EQ(rdma.destroy_srq(a.receives), EBUSY);
    EXPECT_EQ(rdma.close_device(a.context), EBUSY);
    expected_faults = {"a device was closed with 6 objects in use"};
  }
  EXPECT_EQ(rdma.live().total(), 0u);
}

TEST_F(SimulatedRdmaTest, a_queue_pair_goes_through_its_states_with_all_attributes_only) {
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

TEST_F(SimulatedRdmaTest, a_send_arrives_in_a_receive_with_both_completions) {
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

TEST_F(SimulatedRdmaTest, pieces_are_gathered_and_scattered) {
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

TEST_F(SimulatedRdmaTest, memory_is_written_and_read_from_afar) {
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

TEST_F(SimulatedRdmaTest, atomics_change_a_word_and_bring_its_old_value) {
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

TEST_F(SimulatedRdmaTest, inline_data_is_copied_when_it_is_posted) {
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

TEST_F(SimulatedRdmaTest, a_send_queue_slot_is_free_when_a_completion_that_covers_it_was_polled) {
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

TEST_F(SimulatedRdmaTest, unsignalled_work_frees_its_slots_with_a_later_completion) {
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

TEST_F(SimulatedRdmaTest, memory_outside_of_a_region_is_refused_at_the_side_that_named_it) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.post(a.request(1), {.addr = a.address(4000), .length = 97, .lkey = a.region->lkey}), 0);
  EXPECT_EQ(a.status(), IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(rdma.state_of(a.pair), IBV_QPS_ERR);
  EXPECT_EQ(rdma.state_of(b.pair), IBV_QPS_RTS);
}

TEST_F(SimulatedRdmaTest, a_receive_without_a_key_to_its_memory_fails_at_both_sides) {
  Side a(rdma);
  Side b(rdma, {.device = 1, .region_access = 0});
  connect(a, b);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_REM_OP_ERR);
  EXPECT_EQ(b.status(), IBV_WC_LOC_PROT_ERR);
}

TEST_F(SimulatedRdmaTest, a_wrong_remote_key_is_refused_and_puts_both_sides_into_error) {
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

TEST_F(SimulatedRdmaTest, a_queue_pair_without_the_access_right_refuses_the_request) {
  Side a(rdma);
  Side b(rdma, {.device = 1, .access = IBV_ACCESS_REMOTE_READ});
  connect(a, b);
  EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 10)), 0);
  EXPECT_EQ(a.status(), IBV_WC_REM_INV_REQ_ERR);
}

TEST_F(SimulatedRdmaTest, a_message_longer_than_its_receive_fails_at_both_sides) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(b.receive(1, 2048, 99), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.status(), IBV_WC_REM_INV_REQ_ERR);
  EXPECT_EQ(b.status(), IBV_WC_LOC_LEN_ERR);
}

TEST_F(SimulatedRdmaTest, a_message_without_a_receive_waits_and_is_counted_once) {
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

TEST_F(SimulatedRdmaTest, finite_retries_for_a_receive_end_when_the_test_says_so) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b, 3);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(a.send(2), 0);
  rdma.expire_retries();
  EXPECT_EQ(a.status(), IBV_WC_RNR_RETRY_EXC_ERR);
  EXPECT_EQ(a.status(), IBV_WC_WR_FLUSH_ERR);
}

TEST_F(SimulatedRdmaTest, a_peer_that_is_gone_or_another_one_is_not_reached) {
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

TEST_F(SimulatedRdmaTest, work_may_wait_for_a_peer_that_is_not_ready_yet) {
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

TEST_F(SimulatedRdmaTest, queue_pairs_of_one_context_and_infiniband_devices_connect) {
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

TEST_F(SimulatedRdmaTest, a_queue_pair_in_error_flushes_its_work_in_order_and_all_that_comes) {
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

TEST_F(SimulatedRdmaTest, receives_of_a_shared_queue_stay_when_a_queue_pair_fails) {
  Side a(rdma, {.shared_receives = true});
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(a.receive(1), 0);
  rdma.force_error(a.pair);
  EXPECT_EQ(a.event(), IBV_EVENT_QP_LAST_WQE_REACHED);
  EXPECT_EQ(a.poll(), std::nullopt);
  EXPECT_EQ(rdma.receives_waiting(a.receives), 1u);
}

TEST_F(SimulatedRdmaTest, the_limit_of_a_shared_queue_raises_one_event) {
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

TEST_F(SimulatedRdmaTest, completions_of_a_destroyed_queue_pair_stay_or_go) {
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

TEST_F(SimulatedRdmaTest, work_of_a_destroyed_queue_pair_never_touches_memory) {
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

TEST_F(SimulatedRdmaTest, a_completion_queue_that_is_overrun_says_so) {
  Side a(rdma, {.completions = 1});
  Side b(rdma, {.device = 1});
  connect(a, b);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a.remote(IBV_WR_RDMA_WRITE, b, 0, a.piece(0, 1)), 0);
  EXPECT_EQ(a.event(), IBV_EVENT_CQ_ERR);
  EXPECT_EQ(a.event(), std::nullopt);
  expected_faults = std::vector<std::string>(2, "a completion queue of 1 entries was overrun");
}

TEST_F(SimulatedRdmaTest, an_armed_queue_tells_of_the_first_completion_after_arming_only) {
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

TEST_F(SimulatedRdmaTest, armed_for_solicited_ones_a_queue_tells_of_those_and_of_errors) {
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

TEST_F(SimulatedRdmaTest, an_event_that_was_got_has_to_be_acknowledged) {
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

TEST_F(SimulatedRdmaTest, held_work_executes_in_posting_order_or_in_the_order_the_test_chooses) {
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

TEST_F(SimulatedRdmaTest, the_work_of_one_queue_pair_is_held_alone) {
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

TEST_F(SimulatedRdmaTest, completions_come_late_when_they_are_held) {
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

TEST_F(SimulatedRdmaTest, work_waits_for_a_port_that_is_down_until_it_is_up_or_retries_expire) {
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

TEST_F(SimulatedRdmaTest, a_fatal_device_fails_all_that_it_has) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  EXPECT_EQ(a.receive(1), 0);
  rdma.raise_device_fatal("sim0");
  EXPECT_EQ(a.event(), IBV_EVENT_DEVICE_FATAL);
  EXPECT_EQ(a.status(), IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(rdma.state_of(b.pair), IBV_QPS_RTS);
}

TEST_F(SimulatedRdmaTest, the_chosen_call_fails_with_the_chosen_error) {
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
  rdma.fail(Call::kAllocPd, ENOMEM);
  EXPECT_EQ(rdma.alloc_pd(a.context), nullptr);
  EXPECT_EQ(errno, ENOMEM);
}

TEST_F(SimulatedRdmaTest, the_chosen_work_request_completes_with_the_chosen_status) {
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

TEST_F(SimulatedRdmaTest, the_chosen_receive_completes_with_the_chosen_status) {
  Side a(rdma);
  Side b(rdma, {.device = 1});
  connect(a, b);
  rdma.complete_receive_with(b.pair, IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(b.receive(1), 0);
  EXPECT_EQ(a.send(1), 0);
  EXPECT_EQ(b.status(), IBV_WC_LOC_QP_OP_ERR);
  EXPECT_EQ(a.status(), IBV_WC_REM_OP_ERR);
}

TEST_F(SimulatedRdmaTest, registering_more_than_the_limit_fails) {
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

TEST_F(SimulatedRdmaTest, calls_and_work_requests_are_counted_per_device) {
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

TEST_F(SimulatedRdmaTest, two_threads_talk_and_one_sleeps_until_the_completion_comes) {
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
