// SPDX-License-Identifier: Apache-2.0
// Completion channels, completion queues and shared receive queues: made and destroyed.
#include <cerrno>

#include "support/simulated_rdma.hpp"
#include "support/simulated_rdma/network.hpp"

namespace weft::testing {

using namespace simulated;

ibv_comp_channel* SimulatedRdma::create_comp_channel(ibv_context* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle, Call::kCreateCompChannel)) return errno = error, nullptr;
  auto made = std::make_unique<Channel>();
  made->context = handle;
  made->fd = made->events.fd();
  made->refcnt = 0;
  return context_of(handle).channels.add(std::move(made));
}

int SimulatedRdma::destroy_comp_channel(ibv_comp_channel* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kDestroyCompChannel)) return error;
  if (handle->refcnt != 0) return EBUSY;
  context_of(handle->context).channels.remove(static_cast<Channel*>(handle));
  return 0;
}

ibv_cq* SimulatedRdma::create_cq(ibv_context* handle, int entries, void* cq_context,
                                 ibv_comp_channel* channel, int vector) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle, Call::kCreateCq)) return errno = error, nullptr;
  Context& context = context_of(handle);
  const ibv_device_attr& limits = context.owner().description.attributes;
  const bool fits =
      entries >= 1 && entries <= limits.max_cqe && vector >= 0 && vector < handle->num_comp_vectors;
  if (!fits || (channel != nullptr && channel->context != handle)) return errno = EINVAL, nullptr;
  if (context.completion_queues.size() >= static_cast<std::size_t>(limits.max_cq)) {
    return errno = ENOMEM, nullptr;
  }
  auto made = std::make_unique<CompletionQueue>();
  made->context = handle;
  made->channel = channel;
  made->cq_context = cq_context;
  made->cqe = entries;
  if (channel != nullptr) ++channel->refcnt;
  return context.completion_queues.add(std::move(made));
}

int SimulatedRdma::destroy_cq(ibv_cq* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kDestroyCq)) return error;
  auto& queue = *static_cast<CompletionQueue*>(handle);
  if (queue.users != 0) return EBUSY;
  Context& context = context_of(handle->context);
  if (!network_->end_events(context, &queue, queue.events_out + queue.async_events_out)) return EBUSY;
  if (queue.channel != nullptr) {
    static_cast<Channel*>(queue.channel)->events.drop_if([&](const CompletionQueue* of) {
      return of == &queue;
    });
    --queue.channel->refcnt;
  }
  context.completion_queues.remove(&queue);
  return 0;
}

int SimulatedRdma::get_cq_event(ibv_comp_channel* handle, ibv_cq** queue, void** cq_context) noexcept {
  std::unique_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kGetCqEvent)) return errno = error, -1;
  CompletionQueue* of = nullptr;
  if (network_->get_cq_event(*static_cast<Channel*>(handle), &of, lock) != 0) return -1;
  *queue = of;
  *cq_context = of->cq_context;
  return 0;
}

void SimulatedRdma::ack_cq_events(ibv_cq* handle, unsigned count) noexcept {
  const std::scoped_lock lock(network_->mutex);
  auto& queue = *static_cast<CompletionQueue*>(handle);
  if (count > queue.events_out) network_->fault("more completion events were acknowledged than were got");
  queue.events_out -= std::min(count, queue.events_out);
}

ibv_srq* SimulatedRdma::create_srq(ibv_pd* domain, ibv_srq_init_attr* attributes) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(domain->context, Call::kCreateSrq)) return errno = error, nullptr;
  Context& context = context_of(domain->context);
  const ibv_device_attr& limits = context.owner().description.attributes;
  const ibv_srq_attr& wanted = attributes->attr;
  const bool fits = wanted.max_wr >= 1 && wanted.max_wr <= static_cast<std::uint32_t>(limits.max_srq_wr) &&
                    wanted.max_sge <= static_cast<std::uint32_t>(limits.max_srq_sge);
  if (!fits) return errno = EINVAL, nullptr;
  if (context.receive_queues.size() >= static_cast<std::size_t>(limits.max_srq)) {
    return errno = ENOMEM, nullptr;
  }
  auto made = std::make_unique<SharedReceiveQueue>();
  made->context = domain->context;
  made->srq_context = attributes->srq_context;
  made->pd = domain;
  made->queue = {.domain = domain, .slots = wanted.max_wr, .pieces_max = wanted.max_sge, .posted = {}};
  ++static_cast<Domain*>(domain)->users;
  return context.receive_queues.add(std::move(made));
}

int SimulatedRdma::modify_srq(ibv_srq* handle, ibv_srq_attr* attributes, int mask) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kModifySrq)) return error;
  auto& shared = *static_cast<SharedReceiveQueue*>(handle);
  if (mask != IBV_SRQ_LIMIT || attributes->srq_limit > shared.queue.slots) return EINVAL;
  shared.limit = attributes->srq_limit;
  return 0;
}

int SimulatedRdma::destroy_srq(ibv_srq* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kDestroySrq)) return error;
  auto& shared = *static_cast<SharedReceiveQueue*>(handle);
  if (shared.users != 0) return EBUSY;
  Context& context = context_of(handle->context);
  if (!network_->end_events(context, &shared, shared.async_events_out)) return EBUSY;
  network_->forget(context, shared.queue);
  --static_cast<Domain*>(shared.pd)->users;
  context.receive_queues.remove(&shared);
  return 0;
}

}  // namespace weft::testing
