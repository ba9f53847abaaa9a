// SPDX-License-Identifier: Apache-2.0
// What happens to a work request of a send queue, at both ends.
#include <cstring>

#include "support/simulated_rdma/network.hpp"

namespace weft::testing::simulated {

namespace {

constexpr std::uint32_t kPsnMask = 0xffffff;

std::byte* memory(std::uint64_t address) {
  return reinterpret_cast<std::byte*>(address);
}

std::vector<ibv_sge> pieces_of(const SendWork& work) {
  if (!work.is_inline()) return work.pieces;
  return {{.addr = reinterpret_cast<std::uint64_t>(work.inline_data.data()),
           .length = static_cast<std::uint32_t>(work.inline_data.size()),
           .lkey = 0}};
}

/// Both have room for `bytes`.
void copy(const std::vector<ibv_sge>& from, const std::vector<ibv_sge>& to, std::uint64_t bytes) {
  std::size_t source = 0;
  std::size_t target = 0;
  std::uint64_t read = 0;
  std::uint64_t written = 0;
  while (bytes != 0) {
    const std::uint64_t part = std::min({bytes, from[source].length - read, to[target].length - written});
    if (part != 0) {
      std::memmove(memory(to[target].addr + written), memory(from[source].addr + read), part);
    }
    bytes -= part;
    read += part;
    written += part;
    if (read == from[source].length) ++source, read = 0;
    if (written == to[target].length) ++target, written = 0;
  }
}

std::uint64_t total(const std::vector<ibv_sge>& pieces) {
  std::uint64_t bytes = 0;
  for (const ibv_sge& piece : pieces) bytes += piece.length;
  return bytes;
}

std::vector<ibv_sge> remote(const SendWork& work, std::uint64_t bytes) {
  return {{.addr = work.request.wr.rdma.remote_addr, .length = static_cast<std::uint32_t>(bytes), .lkey = 0}};
}

SimulatedPort& port_of(const QueuePair& pair) {
  return *device_of(pair).port(pair.attributes.port_num);
}

/// Tells whether this port is the one that the queue pair's address vector leads to.
bool leads_to(const QueuePair& pair, const SimulatedPort& port) {
  const ibv_ah_attr& address = pair.attributes.ah_attr;
  const bool ethernet = port_of(pair).attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
  if (ethernet != (port.attributes.link_layer == IBV_LINK_LAYER_ETHERNET)) return false;
  if (!address.is_global) return port.attributes.lid == address.dlid;
  const auto& own = port_of(pair).gids[address.grh.sgid_index];
  return std::any_of(port.gids.begin(), port.gids.end(), [&](const auto& entry) {
    return entry && own && entry->type == own->type &&
           std::memcmp(&entry->gid, &address.grh.dgid, sizeof(ibv_gid)) == 0;
  });
}

bool can_receive(const QueuePair& pair) {
  return pair.now == IBV_QPS_RTR || pair.now == IBV_QPS_RTS;
}

}  // namespace

QueuePair* Network::peer_of(const QueuePair& pair) const {
  for (const auto& device : devices) {
    const auto found = device->pairs.find(pair.attributes.dest_qp_num);
    if (found == device->pairs.end() || !can_receive(*found->second)) continue;
    QueuePair& peer = *found->second;
    if (leads_to(pair, port_of(peer)) && leads_to(peer, port_of(pair)) &&
        peer.attributes.dest_qp_num == pair.qp_num &&
        ((peer.attributes.rq_psn ^ pair.attributes.sq_psn) & kPsnMask) == 0) {
      return &peer;
    }
  }
  return nullptr;
}

/// The ports at both ends of its way, as far as there is one.
bool Network::ports_up(const QueuePair& pair) const {
  if (port_of(pair).attributes.state != IBV_PORT_ACTIVE) return false;
  for (const auto& device : devices) {
    for (const SimulatedPort& port : device->description.ports) {
      if (leads_to(pair, port)) return port.attributes.state == IBV_PORT_ACTIVE;
    }
  }
  return true;
}

void Network::pump() {
  bool progress = !hold;
  while (progress) {
    progress = false;
    // A queue pair's work may end that of others, but never starts any.
    for (auto at = busy.begin(); at != busy.end();) {
      const std::uint64_t order = at->first;
      QueuePair& pair = *at->second;
      while (!pair.hold && execute(pair)) progress = true;
      at = busy.upper_bound(order);
    }
  }
}

bool Network::step() {
  std::map<std::uint64_t, QueuePair*> heads;
  for (const auto& [order, pair] : busy) {
    if (!pair->hold) heads.emplace(pair->sends.front().sequence, pair);
  }
  return std::any_of(heads.begin(), heads.end(), [&](const auto& head) { return execute(*head.second); });
}

bool Network::execute(QueuePair& pair) {
  if (pair.sends.empty()) return false;
  SendWork work = std::move(pair.sends.front());
  pair.sends.pop_front();
  const std::optional<ibv_wc_status> status = perform(pair, work);
  if (!status) {
    pair.sends.push_front(std::move(work));
    return false;
  }
  finish(pair, work, *status);
  return true;
}

void Network::finish(QueuePair& pair, const SendWork& work, ibv_wc_status status) {
  complete_send(pair, work, status, static_cast<std::uint32_t>(bytes_of(work)));
  if (status != IBV_WC_SUCCESS) {
    enter_error(pair);
  } else {
    SimulatedRdmaCounters& counts = device_of(pair).counters;
    counts.moved_bytes += bytes_of(work);
    if (work.request.opcode == IBV_WR_RDMA_READ) {
      ++counts.reads;
      counts.read_bytes += bytes_of(work);
    }
  }
  if (pair.sends.empty()) busy.erase(pair.order);
}

/// None: it has to wait, and `work` says for what.
std::optional<ibv_wc_status> Network::perform(QueuePair& pair, SendWork& work) {
  if (pair.send_fault.countdown == 1 && !pair.send_fault.after_effect) {
    pair.send_fault.countdown = 0;
    return pair.send_fault.status;
  }
  QueuePair* peer = peer_of(pair);
  const bool needs_receive = peer != nullptr && takes_receive(work.request.opcode);
  if (!ports_up(pair) || (peer == nullptr && wait_for_peers)) {
    work.waits = Waits::kForPeer;
    return impatient ? too_long(pair, work.waits) : std::nullopt;
  }
  if (needs_receive && peer->receives().posted.empty()) {
    if (std::exchange(work.waits, Waits::kForReceive) != Waits::kForReceive) {
      ++device_of(pair).counters.rnr_naks;
    }
    return impatient ? too_long(pair, work.waits) : std::nullopt;
  }
  const bool fails = pair.send_fault.due();
  if (peer == nullptr) return IBV_WC_RETRY_EXC_ERR;
  ibv_wc_status status = IBV_WC_SUCCESS;
  if (is_atomic(work.request.opcode)) {
    status = atomic(pair, *peer, work);
  } else if (work.request.opcode == IBV_WR_RDMA_READ) {
    status = read(pair, *peer, work);
  } else if (work.request.opcode == IBV_WR_RDMA_WRITE || work.request.opcode == IBV_WR_RDMA_WRITE_WITH_IMM) {
    status = write(pair, *peer, work);
  } else {
    status = send(pair, *peer, work);
  }
  return fails && status == IBV_WC_SUCCESS ? pair.send_fault.status : status;
}

bool Network::covered(QueuePair& pair, const ibv_pd* domain, const std::vector<ibv_sge>& pieces,
                      int access) const {
  return std::all_of(pieces.begin(), pieces.end(), [&](const ibv_sge& piece) {
    if (piece.length == 0) return true;
    const Region* found = region(device_of(pair), domain, piece.lkey, piece.addr, piece.length, access);
    return found != nullptr && found->lkey == piece.lkey;
  });
}

/// The responder found a fault in the request: it goes to error itself.
ibv_wc_status Network::refuse(QueuePair& peer, ibv_event_type event, ibv_wc_status status) {
  raise(peer, event);
  enter_error(peer);
  return status;
}

ReceiveWork Network::take_receive(QueuePair& peer) {
  ReceiveQueue& queue = peer.receives();
  ReceiveWork taken = std::move(queue.posted.front());
  queue.posted.pop_front();
  SharedReceiveQueue* shared = peer.shared();
  if (shared != nullptr && shared->limit != 0 && queue.posted.size() < shared->limit) {
    shared->limit = 0;
    ibv_async_event event{};
    event.element.srq = shared;
    event.event_type = IBV_EVENT_SRQ_LIMIT_REACHED;
    context_of(shared->context).events.add(event);
  }
  return taken;
}

namespace {

bool message_too_long(const QueuePair& pair, std::uint64_t bytes) {
  return bytes > port_of(pair).attributes.max_msg_sz;
}

/// Its packets are longer than the peer agreed to.
bool packets_too_long(const QueuePair& pair, const QueuePair& peer, std::uint64_t bytes) {
  const std::uint64_t agreed = 128ull << static_cast<unsigned>(peer.attributes.path_mtu);
  return pair.attributes.path_mtu > peer.attributes.path_mtu && bytes > agreed;
}

ibv_wc received(const QueuePair& pair, const SendWork& work, ibv_wc_opcode opcode, std::uint64_t bytes) {
  ibv_wc wc{};
  wc.opcode = opcode;
  wc.byte_len = static_cast<std::uint32_t>(bytes);
  wc.src_qp = pair.qp_num;
  if (work.request.opcode != IBV_WR_SEND) {
    wc.wc_flags = IBV_WC_WITH_IMM;
    wc.imm_data = work.request.imm_data;
  }
  return wc;
}

}  // namespace

ibv_wc_status Network::send(QueuePair& pair, QueuePair& peer, const SendWork& work) {
  const std::uint64_t bytes = bytes_of(work);
  if (message_too_long(pair, bytes)) return IBV_WC_LOC_LEN_ERR;
  if (!covered(pair, pair.pd, work.pieces, 0)) return IBV_WC_LOC_PROT_ERR;
  if (packets_too_long(pair, peer, bytes)) {
    return refuse(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
  }
  const ReceiveWork taken = take_receive(peer);
  const auto fail = [&](ibv_wc_status there, ibv_wc_status here) {
    fail_receive(peer, taken, there);
    enter_error(peer);
    return here;
  };
  if (peer.receive_fault.due()) return fail(peer.receive_fault.status, IBV_WC_REM_OP_ERR);
  if (total(taken.pieces) < bytes) return fail(IBV_WC_LOC_LEN_ERR, IBV_WC_REM_INV_REQ_ERR);
  if (!covered(peer, peer.receives().domain, taken.pieces, IBV_ACCESS_LOCAL_WRITE)) {
    return fail(IBV_WC_LOC_PROT_ERR, IBV_WC_REM_OP_ERR);
  }
  copy(pieces_of(work), taken.pieces, bytes);
  complete_receive(peer, taken, received(pair, work, IBV_WC_RECV, bytes),
                   (work.request.send_flags & IBV_SEND_SOLICITED) != 0);
  return IBV_WC_SUCCESS;
}

ibv_wc_status Network::write(QueuePair& pair, QueuePair& peer, const SendWork& work) {
  const std::uint64_t bytes = bytes_of(work);
  if (message_too_long(pair, bytes)) return IBV_WC_LOC_LEN_ERR;
  if (!covered(pair, pair.pd, work.pieces, 0)) return IBV_WC_LOC_PROT_ERR;
  if ((peer.attributes.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) == 0 ||
      packets_too_long(pair, peer, bytes)) {
    return refuse(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
  }
  const auto& target = work.request.wr.rdma;
  const Region* found =
      region(device_of(peer), peer.pd, target.rkey, target.remote_addr, bytes, IBV_ACCESS_REMOTE_WRITE);
  if (bytes != 0 && (found == nullptr || found->rkey != target.rkey)) {
    return refuse(peer, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
  }
  copy(pieces_of(work), remote(work, bytes), bytes);
  if (work.request.opcode != IBV_WR_RDMA_WRITE_WITH_IMM) return IBV_WC_SUCCESS;
  const ReceiveWork taken = take_receive(peer);
  if (peer.receive_fault.due()) {
    fail_receive(peer, taken, peer.receive_fault.status);
    enter_error(peer);
    return IBV_WC_REM_OP_ERR;
  }
  complete_receive(peer, taken, received(pair, work, IBV_WC_RECV_RDMA_WITH_IMM, bytes),
                   (work.request.send_flags & IBV_SEND_SOLICITED) != 0);
  return IBV_WC_SUCCESS;
}

ibv_wc_status Network::read(QueuePair& pair, QueuePair& peer, const SendWork& work) {
  const std::uint64_t bytes = bytes_of(work);
  if (message_too_long(pair, bytes)) return IBV_WC_LOC_LEN_ERR;
  if (pair.attributes.max_rd_atomic == 0) return IBV_WC_LOC_QP_OP_ERR;
  if (!covered(pair, pair.pd, work.pieces, IBV_ACCESS_LOCAL_WRITE)) return IBV_WC_LOC_PROT_ERR;
  if ((peer.attributes.qp_access_flags & IBV_ACCESS_REMOTE_READ) == 0 ||
      peer.attributes.max_dest_rd_atomic == 0) {
    return refuse(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
  }
  const auto& source = work.request.wr.rdma;
  const Region* found =
      region(device_of(peer), peer.pd, source.rkey, source.remote_addr, bytes, IBV_ACCESS_REMOTE_READ);
  if (bytes != 0 && (found == nullptr || found->rkey != source.rkey)) {
    return refuse(peer, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
  }
  copy(remote(work, bytes), work.pieces, bytes);
  return IBV_WC_SUCCESS;
}

ibv_wc_status Network::atomic(QueuePair& pair, QueuePair& peer, const SendWork& work) {
  if (bytes_of(work) != sizeof(std::uint64_t)) return IBV_WC_LOC_LEN_ERR;
  if (pair.attributes.max_rd_atomic == 0) return IBV_WC_LOC_QP_OP_ERR;
  if (!covered(pair, pair.pd, work.pieces, IBV_ACCESS_LOCAL_WRITE)) return IBV_WC_LOC_PROT_ERR;
  const auto& asked = work.request.wr.atomic;
  if ((peer.attributes.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) == 0 ||
      peer.attributes.max_dest_rd_atomic == 0 || asked.remote_addr % sizeof(std::uint64_t) != 0) {
    return refuse(peer, IBV_EVENT_QP_REQ_ERR, IBV_WC_REM_INV_REQ_ERR);
  }
  const Region* found = region(device_of(peer), peer.pd, asked.rkey, asked.remote_addr, sizeof(std::uint64_t),
                               IBV_ACCESS_REMOTE_ATOMIC);
  if (found == nullptr || found->rkey != asked.rkey) {
    return refuse(peer, IBV_EVENT_QP_ACCESS_ERR, IBV_WC_REM_ACCESS_ERR);
  }
  auto* word = reinterpret_cast<std::uint64_t*>(asked.remote_addr);
  std::uint64_t before = asked.compare_add;
  if (work.request.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    before = __atomic_fetch_add(word, asked.compare_add, __ATOMIC_ACQ_REL);
  } else {
    __atomic_compare_exchange_n(word, &before, asked.swap, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }
  std::memcpy(memory(work.pieces[0].addr), &before, sizeof before);
  return IBV_WC_SUCCESS;
}

std::optional<ibv_wc_status> Network::too_long(const QueuePair& pair, Waits waits) {
  if (waits == Waits::kForPeer) return IBV_WC_RETRY_EXC_ERR;
  const bool expires = waits == Waits::kForReceive && pair.attributes.rnr_retry != 7;
  return expires ? std::optional(IBV_WC_RNR_RETRY_EXC_ERR) : std::nullopt;
}

void Network::expire_retries() {
  for (auto at = busy.begin(); at != busy.end();) {
    const std::uint64_t order = at->first;
    QueuePair& pair = *at->second;
    if (const auto status = too_long(pair, pair.sends.front().waits)) {
      const SendWork work = std::move(pair.sends.front());
      pair.sends.pop_front();
      finish(pair, work, *status);
    }
    at = busy.upper_bound(order);
  }
}

}  // namespace weft::testing::simulated
