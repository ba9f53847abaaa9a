// SPDX-License-Identifier: Apache-2.0
// Queue pairs: made, moved from state to state, flushed, destroyed.
#include <cerrno>

#include "support/simulated_rdma.hpp"
#include "support/simulated_rdma/network.hpp"

namespace weft::testing {

using namespace simulated;

namespace {

/// Attributes that a change of state of a reliable connection requires, and those that it allows.
struct Transition {
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};

constexpr Transition kTransitions[] = {
    {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    {IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    {IBV_QPS_INIT, IBV_QPS_RTR,
     IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
         IBV_QP_MIN_RNR_TIMER,
     IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX},
    {IBV_QPS_RTR, IBV_QPS_RTS,
     IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
     IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
    {IBV_QPS_RTS, IBV_QPS_RTS, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER},
};

bool permitted(ibv_qp_state from, ibv_qp_state to, int mask) {
  mask &= ~IBV_QP_STATE;
  if (to == IBV_QPS_RESET || to == IBV_QPS_ERR) return (mask & ~IBV_QP_CUR_STATE) == 0;
  for (const Transition& known : kTransitions) {
    if (known.from != from || known.to != to) continue;
    return (mask & known.required) == known.required && (mask & ~(known.required | known.optional)) == 0;
  }
  return false;
}

/// The way to the peer names a port and a GID of this device, and is of the kind that its link layer needs.
bool good_address(Device& device, const ibv_ah_attr& address) {
  const SimulatedPort* port = device.port(address.port_num);
  if (port == nullptr) return false;
  if (!address.is_global) return port->attributes.link_layer == IBV_LINK_LAYER_INFINIBAND;
  return address.grh.sgid_index < port->gids.size() && port->gids[address.grh.sgid_index].has_value();
}

bool in_range(Device& device, const QueuePair& pair, const ibv_qp_attr& wanted, int mask) {
  const auto has = [mask](int bit) { return (mask & bit) != 0; };
  const ibv_device_attr& limits = device.description.attributes;
  if (has(IBV_QP_PORT) && device.port(wanted.port_num) == nullptr) return false;
  if (has(IBV_QP_PKEY_INDEX) && wanted.pkey_index != 0) return false;
  if (has(IBV_QP_AV) && !good_address(device, wanted.ah_attr)) return false;
  if (has(IBV_QP_PATH_MTU) &&
      (wanted.path_mtu < IBV_MTU_256 ||
       wanted.path_mtu > device.port(pair.attributes.port_num)->attributes.active_mtu)) {
    return false;
  }
  if (has(IBV_QP_RETRY_CNT) && wanted.retry_cnt > 7) return false;
  if (has(IBV_QP_RNR_RETRY) && wanted.rnr_retry > 7) return false;
  if (has(IBV_QP_TIMEOUT) && wanted.timeout > 31) return false;
  if (has(IBV_QP_MIN_RNR_TIMER) && wanted.min_rnr_timer > 31) return false;
  if (has(IBV_QP_MAX_QP_RD_ATOMIC) && wanted.max_rd_atomic > limits.max_qp_init_rd_atom) return false;
  return !has(IBV_QP_MAX_DEST_RD_ATOMIC) || wanted.max_dest_rd_atomic <= limits.max_qp_rd_atom;
}

void take_over(QueuePair& pair, const ibv_qp_attr& wanted, int mask) {
  ibv_qp_attr& own = pair.attributes;
  const auto take = [mask](int bit, auto& to, const auto& from) {
    if ((mask & bit) != 0) to = from;
  };
  take(IBV_QP_ACCESS_FLAGS, own.qp_access_flags, wanted.qp_access_flags);
  take(IBV_QP_PKEY_INDEX, own.pkey_index, wanted.pkey_index);
  take(IBV_QP_PORT, own.port_num, wanted.port_num);
  take(IBV_QP_AV, own.ah_attr, wanted.ah_attr);
  take(IBV_QP_PATH_MTU, own.path_mtu, wanted.path_mtu);
  take(IBV_QP_TIMEOUT, own.timeout, wanted.timeout);
  take(IBV_QP_RETRY_CNT, own.retry_cnt, wanted.retry_cnt);
  take(IBV_QP_RNR_RETRY, own.rnr_retry, wanted.rnr_retry);
  take(IBV_QP_RQ_PSN, own.rq_psn, wanted.rq_psn);
  take(IBV_QP_SQ_PSN, own.sq_psn, wanted.sq_psn);
  take(IBV_QP_MAX_QP_RD_ATOMIC, own.max_rd_atomic, wanted.max_rd_atomic);
  take(IBV_QP_MAX_DEST_RD_ATOMIC, own.max_dest_rd_atomic, wanted.max_dest_rd_atomic);
  take(IBV_QP_MIN_RNR_TIMER, own.min_rnr_timer, wanted.min_rnr_timer);
  take(IBV_QP_DEST_QPN, own.dest_qp_num, wanted.dest_qp_num);
}

int creation_error(const Context& context, const ibv_qp_init_attr& wanted) {
  const SimulatedDevice& device = context.owner().description;
  const auto within = [](std::uint32_t value, int limit) {
    return value <= static_cast<std::uint32_t>(limit);
  };
  if (wanted.qp_type != IBV_QPT_RC) return EOPNOTSUPP;
  if (wanted.send_cq == nullptr || wanted.recv_cq == nullptr) return EINVAL;
  if (wanted.send_cq->context != &context || wanted.recv_cq->context != &context) return EINVAL;
  const ibv_qp_cap& cap = wanted.cap;
  const bool fits = within(cap.max_send_wr, device.attributes.max_qp_wr) &&
                    within(cap.max_send_sge, device.attributes.max_sge) &&
                    cap.max_inline_data <= device.inline_bytes_max;
  const bool receives_fit = wanted.srq != nullptr || (within(cap.max_recv_wr, device.attributes.max_qp_wr) &&
                                                      within(cap.max_recv_sge, device.attributes.max_sge));
  if (!fits || !receives_fit) return EINVAL;
  return within(static_cast<std::uint32_t>(context.owner().pairs.size() + 1), device.attributes.max_qp)
             ? 0
             : ENOMEM;
}

std::unique_ptr<QueuePair> made_pair(ibv_pd* domain, const ibv_qp_init_attr& wanted) {
  auto made = std::make_unique<QueuePair>();
  made->context = domain->context;
  made->pd = domain;
  made->qp_context = wanted.qp_context;
  made->send_cq = wanted.send_cq;
  made->recv_cq = wanted.recv_cq;
  made->srq = wanted.srq;
  made->qp_type = wanted.qp_type;
  made->made_with = wanted;
  made->own_receives = {
      .domain = domain, .slots = wanted.cap.max_recv_wr, .pieces_max = wanted.cap.max_recv_sge, .posted = {}};
  return made;
}

/// Counts the queue pair as a user of everything it was made of.
void use(QueuePair& pair, std::size_t change) {
  static_cast<Domain*>(pair.pd)->users += change;
  static_cast<CompletionQueue*>(pair.send_cq)->users += change;
  static_cast<CompletionQueue*>(pair.recv_cq)->users += change;
  if (pair.srq != nullptr) pair.shared()->users += change;
}

constexpr std::size_t kOneLess = SIZE_MAX;

}  // namespace

void Network::enter_error(QueuePair& pair) {
  if (std::exchange(pair.now, IBV_QPS_ERR) == IBV_QPS_ERR) return;
  busy.erase(pair.order);
  for (const SendWork& work : std::exchange(pair.sends, {})) {
    complete_send(pair, work, IBV_WC_WR_FLUSH_ERR, 0);
  }
  for (const ReceiveWork& work : std::exchange(pair.own_receives.posted, {})) {
    fail_receive(pair, work, IBV_WC_WR_FLUSH_ERR);
  }
  // Comes after the completions of all receives that it took.
  if (pair.srq != nullptr && !pair.hold_completions) raise(pair, IBV_EVENT_QP_LAST_WQE_REACHED);
}

void Network::reset(QueuePair& pair) {
  pair.now = IBV_QPS_RESET;
  busy.erase(pair.order);
  pair.sends.clear();
  pair.own_receives.posted.clear();
  forget(pair, keep_completions);
  pair.own_receives.slots_used = 0;
  pair.send_slots_used = 0;
  pair.send_slots_unreported = 0;
  pair.attributes = {};
}

ibv_qp* SimulatedRdma::create_qp(ibv_pd* domain, ibv_qp_init_attr* attributes) noexcept {
  const std::scoped_lock lock(network_->mutex);
  Context& context = context_of(domain->context);
  if (const int error = network_->enter(domain->context, Call::kCreateQp)) return errno = error, nullptr;
  if (attributes->srq != nullptr) attributes->cap.max_recv_wr = attributes->cap.max_recv_sge = 0;
  if (const int error = creation_error(context, *attributes)) return errno = error, nullptr;
  QueuePair* pair = context.queue_pairs.add(made_pair(domain, *attributes));
  pair->qp_num = context.owner().next_pair++;
  pair->handle = pair->qp_num;
  pair->order = network_->next_order++;
  context.owner().pairs.emplace(pair->qp_num, pair);
  use(*pair, 1);
  return pair;
}

int SimulatedRdma::modify_qp(ibv_qp* handle, ibv_qp_attr* attributes, int mask) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kModifyQp)) return error;
  auto& pair = *static_cast<QueuePair*>(handle);
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attributes->qp_state : pair.now;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attributes->cur_qp_state != pair.now) return EINVAL;
  if (!permitted(pair.now, to, mask) || !in_range(device_of(pair), pair, *attributes, mask)) return EINVAL;
  take_over(pair, *attributes, mask);
  if (to == IBV_QPS_ERR) {
    network_->enter_error(pair);
  } else if (to == IBV_QPS_RESET) {
    network_->reset(pair);
  } else {
    pair.now = to;
  }
  if ((mask & IBV_QP_STATE) != 0) pair.state = to;
  network_->pump();
  return 0;
}

int SimulatedRdma::query_qp(ibv_qp* handle, ibv_qp_attr* attributes, int mask,
                            ibv_qp_init_attr* made_with) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kQueryQp)) return error;
  auto& pair = *static_cast<QueuePair*>(handle);
  *attributes = pair.attributes;
  attributes->qp_state = attributes->cur_qp_state = pair.now;
  attributes->cap = pair.made_with.cap;
  *made_with = pair.made_with;
  if ((mask & IBV_QP_STATE) != 0) pair.state = pair.now;
  return 0;
}

int SimulatedRdma::destroy_qp(ibv_qp* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kDestroyQp)) return error;
  auto& pair = *static_cast<QueuePair*>(handle);
  Context& context = context_of(pair.context);
  if (!network_->end_events(context, &pair, pair.async_events_out)) return EBUSY;
  network_->reset(pair);
  use(pair, kOneLess);
  context.owner().pairs.erase(pair.qp_num);
  context.queue_pairs.remove(&pair);
  network_->pump();
  return 0;
}

}  // namespace weft::testing
