// SPDX-License-Identifier: Apache-2.0
#include <poll.h>

#include <cerrno>

#include "support/simulated_rdma/network.hpp"

namespace weft::testing::simulated {

template <class Event>
int Network::take(Events<Event>& events, Event* event, std::unique_lock<std::mutex>& lock) {
  while (!events.take(event)) {
    if (!events.blocks()) {
      errno = EAGAIN;
      return -1;
    }
    pollfd readable{.fd = events.fd(), .events = POLLIN, .revents = 0};
    lock.unlock();
    ::poll(&readable, 1, -1);
    lock.lock();
  }
  return 0;
}

int Network::get_async_event(Context& context, ibv_async_event* event, std::unique_lock<std::mutex>& lock) {
  if (take(context.events, event, lock) != 0) return -1;
  if (unsigned* out = events_out(*event)) ++*out;
  return 0;
}

int Network::get_cq_event(Channel& channel, CompletionQueue** queue, std::unique_lock<std::mutex>& lock) {
  if (take(channel.events, queue, lock) != 0) return -1;
  ++(*queue)->events_out;
  return 0;
}

unsigned* Network::events_out(const ibv_async_event& event) const {
  for (const auto& device : devices) {
    for (const auto& context : device->contexts) {
      switch (event.event_type) {
        case IBV_EVENT_CQ_ERR:
          if (!context->completion_queues.has(static_cast<CompletionQueue*>(event.element.cq))) break;
          return &static_cast<CompletionQueue*>(event.element.cq)->async_events_out;
        case IBV_EVENT_SRQ_ERR:
        case IBV_EVENT_SRQ_LIMIT_REACHED:
          if (!context->receive_queues.has(static_cast<SharedReceiveQueue*>(event.element.srq))) break;
          return &static_cast<SharedReceiveQueue*>(event.element.srq)->async_events_out;
        case IBV_EVENT_QP_FATAL:
        case IBV_EVENT_QP_REQ_ERR:
        case IBV_EVENT_QP_ACCESS_ERR:
        case IBV_EVENT_COMM_EST:
        case IBV_EVENT_SQ_DRAINED:
        case IBV_EVENT_PATH_MIG:
        case IBV_EVENT_PATH_MIG_ERR:
        case IBV_EVENT_QP_LAST_WQE_REACHED:
          if (!context->queue_pairs.has(static_cast<QueuePair*>(event.element.qp))) break;
          return &static_cast<QueuePair*>(event.element.qp)->async_events_out;
        default:
          return nullptr;
      }
    }
  }
  return nullptr;
}

void Network::ack(const ibv_async_event& event) {
  unsigned* out = events_out(event);
  if (out == nullptr) return;
  if (*out == 0) {
    fault("an event was acknowledged that nobody got");
  } else {
    --*out;
  }
}

void Network::raise(QueuePair& pair, ibv_event_type type) {
  ibv_async_event event{};
  event.element.qp = &pair;
  event.event_type = type;
  context_of(pair.context).events.add(event);
}

bool Network::end_events(Context& context, const void* object, unsigned out) {
  if (out != 0) {
    fault("destroyed with " + std::to_string(out) + " events that were not acknowledged");
    return false;
  }
  context.events.drop_if([object](const ibv_async_event& event) {
    const bool of_port = event.event_type == IBV_EVENT_PORT_ACTIVE || event.event_type == IBV_EVENT_PORT_ERR;
    return !of_port && static_cast<const void*>(event.element.cq) == object;
  });
  return true;
}

}  // namespace weft::testing::simulated
