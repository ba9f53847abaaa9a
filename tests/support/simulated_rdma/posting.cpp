// SPDX-License-Identifier: Apache-2.0
// What the functions in ibv_context's table do with work requests.
#include <cerrno>
#include <cstring>

#include "support/simulated_rdma/network.hpp"

namespace weft::testing::simulated {

namespace {

bool supported(const ibv_send_wr& request, const Device& device) {
  if (request.opcode > IBV_WR_ATOMIC_FETCH_AND_ADD) return false;
  const bool atomic = is_atomic(request.opcode);
  if (atomic && (device.description.attributes.atomic_cap == IBV_ATOMIC_NONE || request.num_sge != 1)) {
    return false;
  }
  const bool brings_back = atomic || request.opcode == IBV_WR_RDMA_READ;
  return !brings_back || (request.send_flags & IBV_SEND_INLINE) == 0;
}

/// False: more than the queue pair takes inline.
bool take_payload(const QueuePair& pair, SendWork& work, const ibv_send_wr& request) {
  work.pieces.assign(request.sg_list, request.sg_list + request.num_sge);
  if (!work.is_inline()) return true;
  const std::uint64_t bytes = bytes_of(work);
  if (bytes > pair.made_with.cap.max_inline_data) return false;
  for (const ibv_sge& piece : work.pieces) {
    const auto* from = reinterpret_cast<const std::byte*>(piece.addr);
    work.inline_data.insert(work.inline_data.end(), from, from + piece.length);
  }
  work.pieces.clear();
  return true;
}

}  // namespace

int Network::post_send(QueuePair& pair, const ibv_send_wr& request) {
  if (pair.now != IBV_QPS_RTS && pair.now != IBV_QPS_ERR) return EINVAL;
  if (pair.send_slots_used >= pair.made_with.cap.max_send_wr) return ENOMEM;
  if (refuse_in != 0 && --refuse_in == 0) return ENOMEM;
  if (request.num_sge < 0 || static_cast<unsigned>(request.num_sge) > pair.made_with.cap.max_send_sge ||
      !supported(request, device_of(pair))) {
    return EINVAL;
  }
  SendWork work;
  work.request = request;
  work.request.next = nullptr;
  work.request.sg_list = nullptr;
  work.signalled = pair.made_with.sq_sig_all != 0 || (request.send_flags & IBV_SEND_SIGNALED) != 0;
  if (!take_payload(pair, work, request)) return EINVAL;
  work.sequence = next_sequence++;
  ++pair.send_slots_used;

  SimulatedRdmaCounters& counts = device_of(pair).counters;
  ++counts.sends_posted;
  if (work.signalled) ++counts.sends_signalled;
  if (work.is_inline()) ++counts.sends_inline;
  counts.inline_bytes += work.inline_data.size();
  if (pair.now == IBV_QPS_ERR) {
    complete_send(pair, work, IBV_WC_WR_FLUSH_ERR, 0);
  } else {
    pair.sends.push_back(std::move(work));
    busy.emplace(pair.order, &pair);
  }
  return 0;
}

int Network::post_receive(ReceiveQueue& queue, const ibv_recv_wr& request) {
  if (queue.slots_used >= queue.slots) return ENOMEM;
  if (request.num_sge < 0 || static_cast<unsigned>(request.num_sge) > queue.pieces_max) return EINVAL;
  queue.posted.push_back({request.wr_id, {request.sg_list, request.sg_list + request.num_sge}});
  ++queue.slots_used;
  return 0;
}

}  // namespace weft::testing::simulated
