// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "support/pattern.hpp"
#include "support/simulated_rdma.hpp"

/// Two queue pairs on two simulated devices, by nothing but the calls of libibverbs.
namespace weft::testing {

struct SideOptions {
  int device = 0;
  bool shared_receives = false;
  int completions = 64;
  ibv_qp_cap cap = {
      .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2, .max_inline_data = 64};
  unsigned access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  int region_access =
      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
};

/// One end, with 4096 bytes of registered memory.
class Side {
 public:
  explicit Side(SimulatedRdma& rdma, const SideOptions& options = {})
      : rdma_(rdma), options_(options), bytes(pattern(4096, static_cast<std::uint32_t>(options.device + 1))) {
    ibv_device** list = rdma.get_device_list(nullptr);
    context = rdma.open_device(list[options.device]);
    rdma.free_device_list(list);
    ::fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
    domain = rdma.alloc_pd(context);
    region = rdma.reg_mr(domain, bytes.data(), bytes.size(), options.region_access);
    channel = rdma.create_comp_channel(context);
    ::fcntl(channel->fd, F_SETFL, O_NONBLOCK);
    completions = rdma.create_cq(context, options.completions, this, channel, 0);
    if (options.shared_receives) {
      ibv_srq_init_attr wanted{.srq_context = nullptr, .attr = {.max_wr = 8, .max_sge = 2, .srq_limit = 0}};
      receives = rdma.create_srq(domain, &wanted);
    }
    ibv_qp_init_attr wanted{};
    wanted.send_cq = wanted.recv_cq = completions;
    wanted.srq = receives;
    wanted.cap = options.cap;
    wanted.qp_type = IBV_QPT_RC;
    pair = rdma.create_qp(domain, &wanted);
  }
  Side(const Side&) = delete;
  Side& operator=(const Side&) = delete;
  ~Side() {
    if (pair != nullptr) {
      EXPECT_EQ(rdma_.destroy_qp(pair), 0);
    }
    if (receives != nullptr) {
      EXPECT_EQ(rdma_.destroy_srq(receives), 0);
    }
    EXPECT_EQ(rdma_.destroy_cq(completions), 0);
    EXPECT_EQ(rdma_.destroy_comp_channel(channel), 0);
    EXPECT_EQ(rdma_.dereg_mr(region), 0);
    EXPECT_EQ(rdma_.dealloc_pd(domain), 0);
    EXPECT_EQ(rdma_.close_device(context), 0);
  }

  int to_init() {
    ibv_qp_attr wanted{};
    wanted.qp_state = IBV_QPS_INIT;
    wanted.port_num = 1;
    wanted.qp_access_flags = options_.access;
    return rdma_.modify_qp(pair, &wanted,
                           IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
  }
  static constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  ibv_qp_attr way_to(Side& peer) {
    ibv_qp_attr wanted{};
    wanted.qp_state = IBV_QPS_RTR;
    wanted.path_mtu = IBV_MTU_1024;
    wanted.dest_qp_num = peer.pair->qp_num;
    wanted.rq_psn = 7;
    wanted.max_dest_rd_atomic = 4;
    wanted.min_rnr_timer = 12;
    wanted.ah_attr.port_num = 1;
    wanted.ah_attr.is_global = 1;
    wanted.ah_attr.grh.hop_limit = 64;
    wanted.ah_attr.grh.sgid_index = 3;
    ibv_gid_entry entry{};
    EXPECT_EQ(rdma_.query_gid(peer.context, 1, 3, &entry), 0);
    wanted.ah_attr.grh.dgid = entry.gid;
    return wanted;
  }
  int to_rtr(Side& peer) {
    ibv_qp_attr wanted = way_to(peer);
    return rdma_.modify_qp(pair, &wanted, kRtrMask);
  }
  int to_rts(std::uint8_t rnr_retry = 7) {
    ibv_qp_attr wanted{};
    wanted.qp_state = IBV_QPS_RTS;
    wanted.timeout = 14;
    wanted.retry_cnt = 6;
    wanted.rnr_retry = rnr_retry;
    wanted.sq_psn = 7;
    wanted.max_rd_atomic = 4;
    return rdma_.modify_qp(pair, &wanted,
                           IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                               IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
  }
  int to(ibv_qp_state state) {
    ibv_qp_attr wanted{};
    wanted.qp_state = state;
    return rdma_.modify_qp(pair, &wanted, IBV_QP_STATE);
  }

  ibv_sge piece(std::size_t at, std::uint32_t length) const {
    return {.addr = address(at), .length = length, .lkey = region->lkey};
  }
  std::uint64_t address(std::size_t at) const {
    return reinterpret_cast<std::uint64_t>(const_cast<std::byte*>(bytes.data()) + at);
  }

  int receive(std::uint64_t id, std::size_t at = 2048, std::uint32_t length = 1024) {
    ibv_sge into = piece(at, length);
    ibv_recv_wr request{.wr_id = id, .next = nullptr, .sg_list = &into, .num_sge = 1};
    ibv_recv_wr* bad = nullptr;
    const int error = receives != nullptr ? ibv_post_srq_recv(receives, &request, &bad)
                                          : ibv_post_recv(pair, &request, &bad);
    EXPECT_EQ(bad, error != 0 ? &request : nullptr);
    return error;
  }
  ibv_send_wr request(std::uint64_t id, ibv_wr_opcode opcode = IBV_WR_SEND) {
    ibv_send_wr made{};
    made.wr_id = id;
    made.opcode = opcode;
    made.send_flags = IBV_SEND_SIGNALED;
    return made;
  }
  int post(ibv_send_wr request, ibv_sge from) {
    request.sg_list = &from;
    request.num_sge = 1;
    ibv_send_wr* bad = nullptr;
    const int error = ibv_post_send(pair, &request, &bad);
    EXPECT_EQ(bad, error != 0 ? &request : nullptr);
    return error;
  }
  int send(std::uint64_t id, std::uint32_t length = 100, unsigned flags = IBV_SEND_SIGNALED) {
    ibv_send_wr made = request(id);
    made.send_flags = flags;
    return post(made, piece(0, length));
  }
  int remote(ibv_wr_opcode opcode, Side& peer, std::size_t at, ibv_sge local) {
    ibv_send_wr made = request(1, opcode);
    made.imm_data = 42;
    made.wr.rdma.remote_addr = peer.address(at);
    made.wr.rdma.rkey = peer.region->rkey;
    return post(made, local);
  }

  std::optional<ibv_wc> poll() {
    ibv_wc wc{};
    return ibv_poll_cq(completions, 1, &wc) == 1 ? std::optional(wc) : std::nullopt;
  }
  /// Status of the next completion, which has to be there.
  ibv_wc_status status() {
    const std::optional<ibv_wc> wc = poll();
    EXPECT_TRUE(wc.has_value());
    return wc ? wc->status : IBV_WC_GENERAL_ERR;
  }
  /// The next device event, acknowledged.
  std::optional<ibv_event_type> event() {
    ibv_async_event event{};
    if (rdma_.get_async_event(context, &event) != 0) return std::nullopt;
    rdma_.ack_async_event(&event);
    return event.event_type;
  }
  bool completion_event() {
    ibv_cq* of = nullptr;
    void* with = nullptr;
    if (rdma_.get_cq_event(channel, &of, &with) != 0) return false;
    EXPECT_EQ(of, completions);
    EXPECT_EQ(with, this);
    rdma_.ack_cq_events(of, 1);
    return true;
  }

 private:
  SimulatedRdma& rdma_;
  const SideOptions options_;

 public:
  std::vector<std::byte> bytes;
  ibv_context* context = nullptr;
  ibv_pd* domain = nullptr;
  ibv_mr* region = nullptr;
  ibv_comp_channel* channel = nullptr;
  ibv_cq* completions = nullptr;
  ibv_srq* receives = nullptr;
  ibv_qp* pair = nullptr;
};

inline void connect(Side& a, Side& b, std::uint8_t rnr_retry = 7) {
  EXPECT_EQ(a.to_init(), 0);
  EXPECT_EQ(b.to_init(), 0);
  EXPECT_EQ(a.to_rtr(b), 0);
  EXPECT_EQ(b.to_rtr(a), 0);
  EXPECT_EQ(a.to_rts(rnr_retry), 0);
  EXPECT_EQ(b.to_rts(rnr_retry), 0);
}

/// Two devices; a test of them says which faults it expects.
class SimulatedDevices : public ::testing::Test {
 protected:
  void TearDown() override { EXPECT_EQ(rdma.faults(), expected_faults); }

  SimulatedRdma rdma{{roce_device("sim0", 1), roce_device("sim1", 2)}};
  std::vector<std::string> expected_faults;
};

inline bool same(const Side& a, std::size_t at, const Side& b, std::size_t there, std::size_t length) {
  return std::memcmp(a.bytes.data() + at, b.bytes.data() + there, length) == 0;
}

}  // namespace weft::testing
