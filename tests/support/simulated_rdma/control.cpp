// SPDX-License-Identifier: Apache-2.0
// What a test sees of the devices, and what it does to them.
#include <cstring>

#include "support/simulated_rdma.hpp"
#include "support/simulated_rdma/network.hpp"

namespace weft::testing {

using namespace simulated;

namespace {

/// Keys of different devices differ, so that one is not taken for the other.
constexpr std::uint32_t kKeysPerDevice = 1u << 16;

QueuePair& pair_of(ibv_qp* handle) {
  return *static_cast<QueuePair*>(handle);
}

void add(SimulatedRdmaCounters& to, const SimulatedRdmaCounters& from) {
  for (std::size_t call = 0; call < kCalls; ++call) to.calls[call] += from.calls[call];
  to.sends_posted += from.sends_posted;
  to.receives_posted += from.receives_posted;
  to.sends_signalled += from.sends_signalled;
  to.sends_inline += from.sends_inline;
  to.inline_bytes += from.inline_bytes;
  to.moved_bytes += from.moved_bytes;
  to.reads += from.reads;
  to.read_bytes += from.read_bytes;
  to.completions_polled += from.completions_polled;
  to.polls_empty += from.polls_empty;
  to.completion_events += from.completion_events;
  to.rnr_naks += from.rnr_naks;
}

/// The handles of one kind that the contexts of these devices have.
template <class Handle, class PoolOf>
std::vector<Handle*> handles(const std::vector<Device*>& devices, PoolOf pool_of) {
  std::vector<Handle*> all;
  for (const Device* device : devices) {
    for (const auto& context : device->contexts) {
      for (const auto& object : pool_of(*context)) all.push_back(object.get());
    }
  }
  return all;
}

}  // namespace

SimulatedRdma::SimulatedRdma(std::vector<SimulatedDevice> devices) : network_(std::make_unique<Network>()) {
  for (SimulatedDevice& description : devices) {
    auto device = std::make_unique<Device>();
    device->node_type = IBV_NODE_CA;
    device->transport_type = IBV_TRANSPORT_IB;
    description.name.copy(device->name, sizeof device->name - 1);
    description.attributes.phys_port_cnt = static_cast<std::uint8_t>(description.ports.size());
    device->next_region += static_cast<std::uint32_t>(network_->devices.size()) * kKeysPerDevice;
    device->description = std::move(description);
    network_->devices.push_back(std::move(device));
  }
  manager_ = std::make_unique<SimulatedCm>(*network_);
}

SimulatedRdma::~SimulatedRdma() = default;

SimulatedRdmaObjects SimulatedRdma::live() const {
  const std::size_t cm_channels = manager_->channels();
  const std::size_t cm_ids = manager_->ids();
  const std::scoped_lock lock(network_->mutex);
  SimulatedRdmaObjects live{.device_lists = network_->device_lists,
                            .address_handles = network_->address_handles,
                            .cm_channels = cm_channels,
                            .cm_ids = cm_ids};
  for (const auto& device : network_->devices) {
    live.contexts += device->contexts.size();
    for (const auto& context : device->contexts) {
      live.domains += context->domains.size();
      live.regions += context->regions.size();
      live.channels += context->channels.size();
      live.completion_queues += context->completion_queues.size();
      live.receive_queues += context->receive_queues.size();
      live.queue_pairs += context->queue_pairs.size();
    }
  }
  return live;
}

SimulatedRdmaCounters SimulatedRdma::counters(std::string_view device) const {
  const std::scoped_lock lock(network_->mutex);
  SimulatedRdmaCounters sum;
  if (device.empty()) add(sum, network_->counters);
  for (const Device* one : network_->named(device)) add(sum, one->counters);
  return sum;
}

std::size_t SimulatedRdma::registered_bytes() const {
  const std::scoped_lock lock(network_->mutex);
  return network_->registered_bytes;
}

std::vector<std::string> SimulatedRdma::faults() const {
  const std::scoped_lock lock(network_->mutex);
  return network_->faults;
}

std::vector<ibv_qp*> SimulatedRdma::queue_pairs(std::string_view device) const {
  const std::scoped_lock lock(network_->mutex);
  return handles<ibv_qp>(network_->named(device), [](Context& c) -> auto& { return c.queue_pairs; });
}

std::vector<ibv_cq*> SimulatedRdma::completion_queues(std::string_view device) const {
  const std::scoped_lock lock(network_->mutex);
  return handles<ibv_cq>(network_->named(device), [](Context& c) -> auto& { return c.completion_queues; });
}

std::vector<ibv_context*> SimulatedRdma::contexts(std::string_view device) const {
  const std::scoped_lock lock(network_->mutex);
  std::vector<ibv_context*> all;
  for (const Device* one : network_->named(device)) {
    for (const auto& context : one->contexts) all.push_back(context.get());
  }
  return all;
}

ibv_qp_state SimulatedRdma::state_of(const ibv_qp* pair) const {
  const std::scoped_lock lock(network_->mutex);
  return static_cast<const QueuePair*>(pair)->now;
}

std::size_t SimulatedRdma::sends_waiting(const ibv_qp* pair) const {
  const std::scoped_lock lock(network_->mutex);
  return static_cast<const QueuePair*>(pair)->sends.size();
}

std::size_t SimulatedRdma::receives_waiting(const ibv_qp* pair) const {
  const std::scoped_lock lock(network_->mutex);
  return static_cast<const QueuePair*>(pair)->own_receives.posted.size();
}

std::size_t SimulatedRdma::receives_waiting(const ibv_srq* queue) const {
  const std::scoped_lock lock(network_->mutex);
  return static_cast<const SharedReceiveQueue*>(queue)->queue.posted.size();
}

void SimulatedRdma::hold() {
  const std::scoped_lock lock(network_->mutex);
  network_->hold = true;
}

void SimulatedRdma::hold(ibv_qp* pair) {
  const std::scoped_lock lock(network_->mutex);
  pair_of(pair).hold = true;
}

void SimulatedRdma::release() {
  const std::scoped_lock lock(network_->mutex);
  network_->hold = false;
  network_->pump();
}

void SimulatedRdma::release(ibv_qp* pair) {
  const std::scoped_lock lock(network_->mutex);
  pair_of(pair).hold = false;
  network_->pump();
}

bool SimulatedRdma::step() {
  const std::scoped_lock lock(network_->mutex);
  return network_->step();
}

bool SimulatedRdma::step(ibv_qp* pair) {
  const std::scoped_lock lock(network_->mutex);
  return network_->execute(pair_of(pair));
}

std::size_t SimulatedRdma::run() {
  const std::scoped_lock lock(network_->mutex);
  std::size_t steps = 0;
  while (network_->step()) ++steps;
  return steps;
}

void SimulatedRdma::hold_completions(ibv_qp* pair) {
  const std::scoped_lock lock(network_->mutex);
  pair_of(pair).hold_completions = true;
}

void SimulatedRdma::hold_completions(ibv_cq* queue) {
  const std::scoped_lock lock(network_->mutex);
  static_cast<CompletionQueue*>(queue)->hold = true;
}

void SimulatedRdma::release_completions(ibv_qp* pair) {
  const std::scoped_lock lock(network_->mutex);
  const bool held = std::exchange(pair_of(pair).hold_completions, false);
  network_->release(*static_cast<CompletionQueue*>(pair->send_cq));
  if (pair->recv_cq != pair->send_cq) network_->release(*static_cast<CompletionQueue*>(pair->recv_cq));
  const bool flushed = held && pair->srq != nullptr && pair_of(pair).now == IBV_QPS_ERR;
  if (flushed) network_->raise(pair_of(pair), IBV_EVENT_QP_LAST_WQE_REACHED);
}

void SimulatedRdma::release_completions(ibv_cq* queue) {
  const std::scoped_lock lock(network_->mutex);
  static_cast<CompletionQueue*>(queue)->hold = false;
  network_->release(*static_cast<CompletionQueue*>(queue));
}

void SimulatedRdma::expire_retries() {
  const std::scoped_lock lock(network_->mutex);
  network_->expire_retries();
  network_->pump();
}

void SimulatedRdma::expire_retries_at_once(bool at_once) {
  const std::scoped_lock lock(network_->mutex);
  network_->impatient = at_once;
}

void SimulatedRdma::run_on_node(int node) {
  const std::scoped_lock lock(network_->mutex);
  network_->node_of_threads = node;
}

void SimulatedRdma::set_distances(std::vector<std::vector<int>> distances) {
  const std::scoped_lock lock(network_->mutex);
  network_->distances = std::move(distances);
}

void SimulatedRdma::wait_for_peers(bool wait) {
  const std::scoped_lock lock(network_->mutex);
  network_->wait_for_peers = wait;
  network_->pump();
}

void SimulatedRdma::fail(Call call, int error, std::uint64_t nth, std::string_view device) {
  const std::scoped_lock lock(network_->mutex);
  network_->failures[static_cast<std::size_t>(call)] = {
      .error = error, .countdown = nth, .device = device.empty() ? nullptr : network_->named(device).front()};
}

void SimulatedRdma::fail_every(Call call, int error, std::string_view device) {
  fail(call, error, 0, device);
}

void SimulatedRdma::refuse_request(std::uint64_t nth) {
  const std::scoped_lock lock(network_->mutex);
  network_->refuse_in = nth;
}

void SimulatedRdma::heal(Call call) {
  fail(call, 0, 0);
}

void SimulatedRdma::complete_send_with(ibv_qp* pair, ibv_wc_status status, std::uint64_t nth, Effect effect) {
  const std::scoped_lock lock(network_->mutex);
  pair_of(pair).send_fault = {.status = status, .countdown = nth, .after_effect = effect == Effect::kDone};
  network_->pump();
}

void SimulatedRdma::complete_receive_with(ibv_qp* pair, ibv_wc_status status, std::uint64_t nth) {
  const std::scoped_lock lock(network_->mutex);
  pair_of(pair).receive_fault = {.status = status, .countdown = nth};
}

int SimulatedRdma::access_of(const ibv_mr* region) {
  return static_cast<const Region*>(region)->access;
}

void SimulatedRdma::limit_registered_bytes(std::size_t bytes) {
  const std::scoped_lock lock(network_->mutex);
  network_->pinned_bytes_max = bytes;
}

void SimulatedRdma::keep_completions_of_destroyed_pairs(bool keep) {
  const std::scoped_lock lock(network_->mutex);
  network_->keep_completions = keep;
}

void SimulatedRdma::set_port_state(std::string_view name, std::uint8_t number, ibv_port_state state) {
  const std::scoped_lock lock(network_->mutex);
  for (Device* device : network_->named(name)) {
    device->port(number)->attributes.state = state;
    ibv_async_event event{};
    event.element.port_num = number;
    event.event_type = state == IBV_PORT_ACTIVE ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR;
    for (const auto& context : device->contexts) context->events.add(event);
  }
  network_->pump();
}

void SimulatedRdma::raise_device_fatal(std::string_view name) {
  const std::scoped_lock lock(network_->mutex);
  for (Device* device : network_->named(name)) {
    ibv_async_event event{};
    event.event_type = IBV_EVENT_DEVICE_FATAL;
    for (const auto& context : device->contexts) {
      for (const auto& pair : context->queue_pairs) network_->enter_error(*pair);
      context->events.add(event);
    }
  }
  network_->pump();
}

void SimulatedRdma::raise_queue_pair_fatal(ibv_qp* pair) {
  const std::scoped_lock lock(network_->mutex);
  network_->raise(pair_of(pair), IBV_EVENT_QP_FATAL);
  network_->enter_error(pair_of(pair));
  network_->pump();
}

void SimulatedRdma::force_error(ibv_qp* pair) {
  const std::scoped_lock lock(network_->mutex);
  network_->enter_error(pair_of(pair));
  network_->pump();
}

void SimulatedRdma::raise(ibv_context* context, const ibv_async_event& event) {
  const std::scoped_lock lock(network_->mutex);
  context_of(context).events.add(event);
}

}  // namespace weft::testing
