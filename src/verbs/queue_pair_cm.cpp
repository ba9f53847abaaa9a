// SPDX-License-Identifier: Apache-2.0
// A queue pair that is connected by what the connection manager says.
#include <algorithm>
#include <utility>

#include "verbs/queue_pair_queues.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

namespace {

// What comes from the manager, and in part from the peer; no alternate path.
constexpr int kInitialised = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
constexpr int kToReceive = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                           IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kToSend =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

}  // namespace

Status QueuePair::move_to(ibv_qp_state state, Transition by, const char* what) {
  by.attributes.qp_state = state;
  const int error = domain_->driver().modify_qp(handle_, &by.attributes, by.mask | IBV_QP_STATE);
  return error == 0 ? Status{} : call_status(error, what);
}

// The rights of the peer are this side's alone to say, and were said when it was made.
Status QueuePair::prepare(const Transition& initialised) {
  return move_to(IBV_QPS_INIT, {initialised.attributes, initialised.mask & kInitialised},
                 "preparing a queue pair");
}

Status QueuePair::connect(const Transition& to_receive, const Transition& to_send,
                          const ConnectOptions& options) {
  if (Status wrong = detail::check(options); !wrong.ok()) return wrong;
  if (connected_) {
    return {StatusCode::kFailedPrecondition, Layer::kTransport, "the queue pair is connected already"};
  }
  const auto at_most = [&](std::uint8_t asked, int granted) {
    return static_cast<std::uint8_t>(std::min<int>({asked, options.reads_max, granted}));
  };
  const ibv_device_attr& device = domain_->device().attributes();
  Transition receiving{to_receive.attributes, to_receive.mask & kToReceive};
  receiving.attributes.max_dest_rd_atomic =
      at_most(to_receive.attributes.max_dest_rd_atomic, device.max_qp_rd_atom);
  receiving.attributes.min_rnr_timer = options.receiver_not_ready_timer;
  if (Status failed = move_to(IBV_QPS_RTR, receiving, "connecting a queue pair"); !failed.ok()) return failed;
  Transition sending{to_send.attributes, to_send.mask & kToSend};
  sending.attributes.max_rd_atomic = at_most(to_send.attributes.max_rd_atomic, device.max_qp_init_rd_atom);
  sending.attributes.timeout = options.ack_timeout;
  sending.attributes.retry_cnt = options.retries;
  sending.attributes.rnr_retry = options.receiver_not_ready_retries;
  if (Status failed = move_to(IBV_QPS_RTS, sending, "letting a queue pair send"); !failed.ok()) return failed;
  mtu_ = receiving.attributes.path_mtu;
  note_gid(receiving.attributes.ah_attr);
  connected_ = true;
  return {};
}

Way QueuePair::way_by(const Transition& to_receive) const {
  return {domain_, to_receive.attributes.ah_attr};
}

// For people: the manager may have chosen another one than best_gid().
void QueuePair::note_gid(const ibv_ah_attr& way) {
  if (way.is_global == 0) return;
  const auto port = domain_->device().port(port_);
  if (!port.ok()) return;
  for (const Gid& gid : port->gids) {
    if (gid.index == way.grh.sgid_index) address_.gid = gid.raw;
  }
}

}  // namespace weft::verbs
