// SPDX-License-Identifier: Apache-2.0
// Devices, contexts, protection domains and memory regions; the table of a context.
#include <cerrno>
#include <cstring>

#include "support/simulated_rdma.hpp"
#include "support/simulated_rdma/network.hpp"

namespace weft::testing {

using namespace simulated;

namespace {

constexpr std::size_t kPageBytes = 4096;

std::size_t pinned(const ibv_mr& region) {
  const auto start = reinterpret_cast<std::uintptr_t>(region.addr);
  const std::uintptr_t end = start + region.length;
  return (end + kPageBytes - 1) / kPageBytes * kPageBytes - start / kPageBytes * kPageBytes;
}

Network& network_of(const ibv_context* context) {
  return *static_cast<const Context*>(context)->network;
}

int post_send(ibv_qp* pair, ibv_send_wr* request, ibv_send_wr** bad) {
  Network& network = network_of(pair->context);
  const std::scoped_lock lock(network.mutex);
  int error = network.enter(pair->context, Call::kPostSend);
  while (request != nullptr && error == 0) {
    error = network.post_send(*static_cast<QueuePair*>(pair), *request);
    if (error == 0) request = request->next;
  }
  if (error != 0) *bad = request;
  network.pump();
  return error;
}

int post_receives(ibv_context* context, int error, ReceiveQueue& queue, ibv_recv_wr* request,
                  ibv_recv_wr** bad) {
  Network& network = network_of(context);
  while (request != nullptr && error == 0) {
    error = network.post_receive(queue, *request);
    if (error != 0) break;
    ++context_of(context).owner().counters.receives_posted;
    request = request->next;
  }
  if (error != 0) *bad = request;
  return error;
}

int post_recv(ibv_qp* handle, ibv_recv_wr* request, ibv_recv_wr** bad) {
  Network& network = network_of(handle->context);
  const std::scoped_lock lock(network.mutex);
  auto& pair = *static_cast<QueuePair*>(handle);
  int error = network.enter(handle->context, Call::kPostRecv);
  if (error == 0 && (pair.now == IBV_QPS_RESET || pair.srq != nullptr)) error = EINVAL;
  error = post_receives(handle->context, error, pair.own_receives, request, bad);
  if (pair.now == IBV_QPS_ERR) {
    for (const ReceiveWork& work : std::exchange(pair.own_receives.posted, {})) {
      network.fail_receive(pair, work, IBV_WC_WR_FLUSH_ERR);
    }
  }
  network.pump();
  return error;
}

int post_srq_recv(ibv_srq* handle, ibv_recv_wr* request, ibv_recv_wr** bad) {
  Network& network = network_of(handle->context);
  const std::scoped_lock lock(network.mutex);
  const int error = post_receives(handle->context, network.enter(handle->context, Call::kPostSrqRecv),
                                  static_cast<SharedReceiveQueue*>(handle)->queue, request, bad);
  network.pump();
  return error;
}

int poll_cq(ibv_cq* queue, int entries, ibv_wc* out) {
  Network& network = network_of(queue->context);
  const std::scoped_lock lock(network.mutex);
  if (network.enter(queue->context, Call::kPollCq) != 0) return -1;
  return network.poll(*static_cast<CompletionQueue*>(queue), entries, out);
}

int req_notify_cq(ibv_cq* queue, int solicited_only) {
  Network& network = network_of(queue->context);
  const std::scoped_lock lock(network.mutex);
  if (const int error = network.enter(queue->context, Call::kReqNotifyCq)) return error;
  network.arm(*static_cast<CompletionQueue*>(queue), solicited_only != 0);
  return 0;
}

}  // namespace

ibv_device** SimulatedRdma::get_device_list(int* count) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(Call::kGetDeviceList, nullptr)) {
    return errno = error, nullptr;
  }
  auto list = std::make_unique<ibv_device*[]>(network_->devices.size() + 1);
  for (std::size_t i = 0; i < network_->devices.size(); ++i) list[i] = network_->devices[i].get();
  if (count != nullptr) *count = static_cast<int>(network_->devices.size());
  ++network_->device_lists;
  return list.release();
}

void SimulatedRdma::free_device_list(ibv_device** list) noexcept {
  const std::scoped_lock lock(network_->mutex);
  --network_->device_lists;
  delete[] list;
}

ibv_context* SimulatedRdma::open_device(ibv_device* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  auto& device = *static_cast<Device*>(handle);
  if (const int error = network_->enter(Call::kOpenDevice, &device)) return errno = error, nullptr;
  auto made = std::make_unique<Context>();
  made->network = network_.get();
  made->device = handle;
  made->cmd_fd = -1;
  made->async_fd = made->events.fd();
  made->num_comp_vectors = device.description.completion_vectors;
  made->ops.poll_cq = poll_cq;
  made->ops.req_notify_cq = req_notify_cq;
  made->ops.post_send = post_send;
  made->ops.post_recv = post_recv;
  made->ops.post_srq_recv = post_srq_recv;
  return device.contexts.add(std::move(made));
}

int SimulatedRdma::close_device(ibv_context* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle, Call::kCloseDevice)) return error;
  Context& context = context_of(handle);
  if (context.objects() != 0) {
    network_->fault("a device was closed with " + std::to_string(context.objects()) + " objects in use");
    return EBUSY;
  }
  context.owner().contexts.remove(&context);
  return 0;
}

int SimulatedRdma::numa_node(const char* name) noexcept {
  const std::scoped_lock lock(network_->mutex);
  for (const auto& device : network_->devices) {
    if (device->description.name == name) return device->description.numa_node;
  }
  return -1;
}

int SimulatedRdma::current_numa_node() noexcept {
  const std::scoped_lock lock(network_->mutex);
  return network_->node_of_threads;
}

int SimulatedRdma::numa_distance(int from, int to) noexcept {
  const std::scoped_lock lock(network_->mutex);
  const auto& distances = network_->distances;
  const auto known = [](const auto& list, int at) {
    return at >= 0 && static_cast<std::size_t>(at) < list.size();
  };
  if (!known(distances, from)) return -1;
  const std::vector<int>& row = distances[static_cast<std::size_t>(from)];
  return known(row, to) ? row[static_cast<std::size_t>(to)] : -1;
}

int SimulatedRdma::query_device(ibv_context* context, ibv_device_attr* attributes) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(context, Call::kQueryDevice)) return error;
  *attributes = context_of(context).owner().description.attributes;
  return 0;
}

int SimulatedRdma::query_port(ibv_context* context, std::uint8_t number, ibv_port_attr* attributes) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(context, Call::kQueryPort)) return error;
  const SimulatedPort* port = context_of(context).owner().port(number);
  if (port == nullptr) return EINVAL;
  *attributes = port->attributes;
  return 0;
}

int SimulatedRdma::query_gid(ibv_context* context, std::uint8_t number, std::uint32_t index,
                             ibv_gid_entry* entry) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(context, Call::kQueryGid)) return error;
  const SimulatedPort* port = context_of(context).owner().port(number);
  if (port == nullptr || index >= port->gids.size()) return EINVAL;
  if (!port->gids[index]) return ENODATA;
  *entry = {.gid = port->gids[index]->gid,
            .gid_index = index,
            .port_num = number,
            .gid_type = port->gids[index]->type,
            .ndev_ifindex = 0};
  return 0;
}

int SimulatedRdma::get_async_event(ibv_context* context, ibv_async_event* event) noexcept {
  std::unique_lock lock(network_->mutex);
  if (const int error = network_->enter(context, Call::kGetAsyncEvent)) return errno = error, -1;
  return network_->get_async_event(context_of(context), event, lock);
}

void SimulatedRdma::ack_async_event(ibv_async_event* event) noexcept {
  const std::scoped_lock lock(network_->mutex);
  network_->ack(*event);
}

ibv_pd* SimulatedRdma::alloc_pd(ibv_context* context) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(context, Call::kAllocPd)) return errno = error, nullptr;
  auto made = std::make_unique<Domain>();
  made->context = context;
  return context_of(context).domains.add(std::move(made));
}

int SimulatedRdma::dealloc_pd(ibv_pd* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kDeallocPd)) return error;
  auto& domain = *static_cast<Domain*>(handle);
  if (domain.users != 0) return EBUSY;
  context_of(handle->context).domains.remove(&domain);
  return 0;
}

ibv_mr* SimulatedRdma::reg_mr(ibv_pd* domain, void* address, std::size_t bytes, int access) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(domain->context, Call::kRegMr)) return errno = error, nullptr;
  const bool written_from_afar = (access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0;
  if (written_from_afar && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return errno = EINVAL, nullptr;
  auto made = std::make_unique<Region>();
  made->context = domain->context;
  made->pd = domain;
  made->addr = address;
  made->length = bytes;
  made->access = access;
  if (network_->pinned_bytes + pinned(*made) > network_->pinned_bytes_max) return errno = ENOMEM, nullptr;
  Context& context = context_of(domain->context);
  const std::uint32_t index = context.owner().next_region++;
  made->handle = index;
  made->lkey = index << 8 | kLocalKey;
  made->rkey = index << 8 | kRemoteKey;
  network_->registered_bytes += bytes;
  network_->pinned_bytes += pinned(*made);
  ++static_cast<Domain*>(domain)->users;
  Region* region = context.regions.add(std::move(made));
  context.owner().regions.emplace(index, region);
  return region;
}

int SimulatedRdma::dereg_mr(ibv_mr* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kDeregMr)) return error;
  Context& context = context_of(handle->context);
  network_->registered_bytes -= handle->length;
  network_->pinned_bytes -= pinned(*handle);
  --static_cast<Domain*>(handle->pd)->users;
  context.owner().regions.erase(handle->lkey >> 8);
  context.regions.remove(static_cast<Region*>(handle));
  return 0;
}

// Every way is known here.
ibv_ah* SimulatedRdma::create_ah(ibv_pd* domain, ibv_ah_attr*) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(domain->context, Call::kCreateAh)) return errno = error, nullptr;
  ++static_cast<Domain*>(domain)->users;
  ++network_->address_handles;
  return new ibv_ah{.context = domain->context, .pd = domain, .handle = 0};
}

int SimulatedRdma::destroy_ah(ibv_ah* handle) noexcept {
  const std::scoped_lock lock(network_->mutex);
  if (const int error = network_->enter(handle->context, Call::kDestroyAh)) return error;
  --static_cast<Domain*>(handle->pd)->users;
  --network_->address_handles;
  delete handle;
  return 0;
}

}  // namespace weft::testing
