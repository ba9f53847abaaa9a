// SPDX-License-Identifier: Apache-2.0
#include "support/simulated_rdma/network.hpp"

namespace weft::testing::simulated {

namespace {

/// A completion with an error has only wr_id, status, qp_num and vendor_err; the rest must not be used.
ibv_wc failed(std::uint64_t id, ibv_wc_status status, std::uint32_t pair) {
  ibv_wc wc{};
  wc.wr_id = id;
  wc.status = status;
  wc.qp_num = pair;
  wc.vendor_err = 0x80u + static_cast<std::uint32_t>(status);
  wc.opcode = static_cast<ibv_wc_opcode>(0x7f);
  wc.byte_len = 0xbadbad;
  wc.imm_data = 0xbadbad;
  wc.wc_flags = ~0u;
  return wc;
}

ibv_wc_opcode opcode_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    default:
      return IBV_WC_SEND;
  }
}

/// A receive's slot is free again even if nobody ever hears of it.
template <class Predicate>
void drop(std::deque<Completion>& completions, Predicate predicate) {
  for (Completion& completion : completions) {
    if (predicate(completion) && completion.receives != nullptr) --completion.receives->slots_used;
  }
  std::erase_if(completions, predicate);
}

template <class Function>
void for_each_completion(CompletionQueue& queue, Function function) {
  for (Completion& completion : queue.ready) function(completion);
  for (Completion& completion : queue.held) function(completion);
}

}  // namespace

void Network::complete_send(QueuePair& pair, const SendWork& work, ibv_wc_status status,
                            std::uint32_t bytes) {
  ++pair.send_slots_unreported;
  if (status == IBV_WC_SUCCESS && !work.signalled) return;
  Completion completion{.wc = failed(work.request.wr_id, status, pair.qp_num), .pair = &pair};
  if (status == IBV_WC_SUCCESS) {
    completion.wc = {};
    completion.wc.wr_id = work.request.wr_id;
    completion.wc.qp_num = pair.qp_num;
    completion.wc.opcode = opcode_of(work.request.opcode);
    completion.wc.byte_len = bytes;
  }
  completion.send_slots = std::exchange(pair.send_slots_unreported, 0);
  deliver(*static_cast<CompletionQueue*>(pair.send_cq), completion);
}

void Network::complete_receive(QueuePair& pair, const ReceiveWork& work, ibv_wc wc, bool solicited) {
  wc.wr_id = work.id;
  wc.qp_num = pair.qp_num;
  deliver(*static_cast<CompletionQueue*>(pair.recv_cq),
          {.wc = wc, .pair = &pair, .receives = &pair.receives(), .solicited = solicited});
}

void Network::fail_receive(QueuePair& pair, const ReceiveWork& work, ibv_wc_status status) {
  complete_receive(pair, work, failed(work.id, status, pair.qp_num), true);
}

void Network::deliver(CompletionQueue& queue, Completion completion) {
  if (queue.hold || completion.pair->hold_completions) {
    queue.held.push_back(completion);
  } else {
    show(queue, completion);
  }
}

void Network::show(CompletionQueue& queue, Completion completion) {
  if (queue.ready.size() >= static_cast<std::size_t>(queue.cqe)) {
    fault("a completion queue of " + std::to_string(queue.cqe) + " entries was overrun");
    if (!std::exchange(queue.overrun, true)) {
      ibv_async_event event{};
      event.element.cq = &queue;
      event.event_type = IBV_EVENT_CQ_ERR;
      context_of(queue.context).events.add(event);
    }
    return;
  }
  queue.ready.push_back(completion);
  const bool counts = completion.solicited || completion.wc.status != IBV_WC_SUCCESS;
  if (queue.armed == Armed::kNo || (queue.armed == Armed::kSolicited && !counts)) return;
  queue.armed = Armed::kNo;
  if (queue.channel == nullptr) return;
  static_cast<Channel*>(queue.channel)->events.add(&queue);
  ++context_of(queue.context).owner().counters.completion_events;
}

void Network::release(CompletionQueue& queue) {
  std::deque<Completion> held = std::exchange(queue.held, {});
  for (Completion& completion : held) {
    if (queue.hold || (completion.pair != nullptr && completion.pair->hold_completions)) {
      queue.held.push_back(completion);
    } else {
      show(queue, completion);
    }
  }
}

int Network::poll(CompletionQueue& queue, int entries, ibv_wc* out) {
  SimulatedRdmaCounters& counts = context_of(queue.context).owner().counters;
  int polled = 0;
  for (; polled < entries && !queue.ready.empty(); ++polled) {
    const Completion& completion = queue.ready.front();
    out[polled] = completion.wc;
    if (completion.receives != nullptr) {
      --completion.receives->slots_used;
    } else if (completion.pair != nullptr) {
      completion.pair->send_slots_used -= completion.send_slots;
    }
    queue.ready.pop_front();
  }
  counts.completions_polled += static_cast<std::uint64_t>(polled);
  if (polled == 0) ++counts.polls_empty;
  return polled;
}

void Network::arm(CompletionQueue& queue, bool solicited_only) {
  if (!solicited_only) {
    queue.armed = Armed::kAny;
  } else if (queue.armed == Armed::kNo) {
    queue.armed = Armed::kSolicited;
  }
}

void Network::forget(QueuePair& pair, bool keep_ready) {
  const auto is_of_pair = [&](const Completion& completion) { return completion.pair == &pair; };
  for (ibv_cq* handle : {pair.send_cq, pair.recv_cq}) {
    auto& queue = *static_cast<CompletionQueue*>(handle);
    drop(queue.held, is_of_pair);
    if (!keep_ready) drop(queue.ready, is_of_pair);
    for (Completion& completion : queue.ready) {
      if (!is_of_pair(completion)) continue;
      completion.pair = nullptr;
      if (completion.receives == &pair.own_receives) completion.receives = nullptr;
    }
  }
}

void Network::forget(const Context& context, const ReceiveQueue& receives) {
  for (const auto& queue : context.completion_queues) {
    for_each_completion(*queue, [&](Completion& completion) {
      if (completion.receives == &receives) completion.receives = nullptr;
    });
  }
}

}  // namespace weft::testing::simulated
