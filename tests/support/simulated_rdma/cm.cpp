// SPDX-License-Identifier: Apache-2.0
// The calls of the simulated connection manager.
#include "support/simulated_rdma/cm.hpp"

#include <netinet/in.h>

#include <cerrno>

namespace weft::testing {

using namespace simulated;
using State = CmIdObject::State;

namespace {

// What a kernel says where nobody listens (CM reject code 8: invalid service), and when the user refuses
// (28).
constexpr int kNobodyListens = 8;
constexpr int kRefused = 28;

int failed(int error) {
  errno = error;
  return -1;
}

/// The GID that routes to IP addresses lead by: the last one.
std::uint8_t gid_index(const Device& device) {
  return static_cast<std::uint8_t>(device.description.ports.front().gids.size() - 1);
}

bool ethernet(const Device& device) {
  return device.description.ports.front().attributes.link_layer == IBV_LINK_LAYER_ETHERNET;
}

ibv_ah_attr way(const Device& from, const Device& to) {
  const SimulatedPort& port = to.description.ports.front();
  ibv_ah_attr made{};
  made.port_num = 1;
  made.dlid = port.attributes.lid;
  made.is_global = ethernet(from) ? 1 : 0;
  made.grh.dgid = port.gids[gid_index(to)]->gid;
  made.grh.sgid_index = gid_index(from);
  made.grh.hop_limit = 64;
  return made;
}

void fill(const CmIdObject& id, ibv_qp_attr& attributes, int& mask) {
  mask = IBV_QP_STATE;
  if (attributes.qp_state == IBV_QPS_INIT) {
    attributes.port_num = 1;
    attributes.pkey_index = 0;
    mask |= IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS;
  } else if (attributes.qp_state == IBV_QPS_RTR) {
    attributes.ah_attr = way(*id.own.device, *id.theirs.device);
    attributes.path_mtu = id.own.device->description.ports.front().attributes.active_mtu;
    attributes.dest_qp_num = id.theirs.parameters.queue_pair;
    attributes.rq_psn = id.own.packet_sequence;
    attributes.max_dest_rd_atomic = id.theirs.parameters.reads_asked;
    mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
            IBV_QP_MIN_RNR_TIMER;
  } else {
    attributes.sq_psn = id.theirs.packet_sequence;
    attributes.timeout = 14;
    attributes.retry_cnt = attributes.rnr_retry = 7;
    attributes.max_rd_atomic = id.theirs.parameters.reads_served;
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  }
}

}  // namespace

SimulatedCm::SimulatedCm(Network& network) : network_(network), state_(std::make_unique<CmState>()) {
  if (network.devices.empty()) return;
  state_->from = network.devices.front().get();
  state_->to = network.devices.back().get();
}

SimulatedCm::~SimulatedCm() = default;

verbs::CmChannel* SimulatedCm::create_event_channel() noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmCreateEventChannel, nullptr)) return errno = error, nullptr;
  return reinterpret_cast<verbs::CmChannel*>(state_->channels.add(std::make_unique<CmChannelObject>()));
}

void SimulatedCm::destroy_event_channel(verbs::CmChannel* handle_of) noexcept {
  const std::scoped_lock lock(network_.mutex);
  CmChannelObject& channel = object(handle_of);
  // Requests that nobody got go with it; all else has to be gone before.
  CmEvent event;
  while (channel.events.take(&event)) {
    if (event.kind == Kind::kRequest) state_->remove(object(event.id));
  }
  for (const auto& [of, held] : std::exchange(state_->held, {})) {
    if (of != &channel) {
      state_->held.emplace_back(of, held);
    } else if (held.kind == Kind::kRequest) {
      state_->remove(object(held.id));
    }
  }
  for (const auto& id : state_->ids) {
    if (id->channel == &channel) network_.fault("an event channel was destroyed before an id of it");
  }
  state_->channels.remove(&channel);
}

int SimulatedCm::fd(const verbs::CmChannel* channel) const noexcept {
  return reinterpret_cast<const CmChannelObject*>(channel)->events.fd();
}

int SimulatedCm::get_event(verbs::CmChannel* channel, CmEvent* event) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmGetEvent, nullptr)) return failed(error);
  if (object(channel).events.blocks()) network_.fault("events are waited for in a loop's thread");
  return object(channel).events.take(event) ? 0 : failed(EAGAIN);
}

verbs::CmId* SimulatedCm::create_id(verbs::CmChannel* channel) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmCreateId, nullptr)) return errno = error, nullptr;
  return handle(*state_->add(object(channel)));
}

int SimulatedCm::destroy_id(verbs::CmId* id) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (!state_->ids.has(id)) {
    network_.fault("an id was destroyed that is not there");
    return failed(EINVAL);
  }
  state_->remove(object(id));
  return 0;
}

int SimulatedCm::bind_addr(verbs::CmId* id, const sockaddr*) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmBindAddr, nullptr)) return failed(error);
  object(id).port = state_->next_port++;
  return 0;
}

int SimulatedCm::listen(verbs::CmId* id, int) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmListen, nullptr)) return failed(error);
  object(id).state = State::kListening;
  return 0;
}

std::uint16_t SimulatedCm::source_port(verbs::CmId* id) const noexcept {
  const std::scoped_lock lock(network_.mutex);
  return object(id).port;
}

int SimulatedCm::resolve_addr(verbs::CmId* handle_of, const sockaddr* to, int) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmResolveAddr, nullptr)) return failed(error);
  CmIdObject& id = object(handle_of);
  if (state_->from == nullptr) return failed(ENODEV);
  id.port = ntohs(to->sa_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(to)->sin6_port
                                            : reinterpret_cast<const sockaddr_in*>(to)->sin_port);
  id.own.device = state_->from;
  id.state = State::kAddress;
  state_->tell(id, Kind::kAddressResolved);
  return 0;
}

int SimulatedCm::resolve_route(verbs::CmId* handle_of, int) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmResolveRoute, nullptr)) return failed(error);
  CmIdObject& id = object(handle_of);
  if (id.state != State::kAddress) return failed(EINVAL);
  id.state = State::kRoute;
  state_->tell(id, Kind::kRouteResolved);
  return 0;
}

int SimulatedCm::connect(verbs::CmId* handle_of, const verbs::CmParameters& parameters) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmConnect, nullptr)) return failed(error);
  CmIdObject& id = object(handle_of);
  if (id.state != State::kRoute || parameters.private_bytes > parameters.private_data.size()) {
    return failed(EINVAL);
  }
  CmIdObject* const listener = state_->listener(id.port);
  if (listener == nullptr) return state_->tell(id, Kind::kRejected, kNobodyListens), 0;
  id.state = State::kAsks;
  id.own.parameters = parameters;
  id.own.packet_sequence = state_->next_sequence++;
  CmIdObject& asked = *state_->add(*listener->channel);
  asked.state = State::kIsAsked;
  asked.own.device = state_->to;
  asked.own.packet_sequence = state_->next_sequence++;
  asked.theirs = id.own;
  asked.peer = &id;
  id.peer = &asked;
  // As on InfiniBand: as long as can be, with zeros.
  verbs::CmParameters padded = parameters;
  padded.private_bytes = padded.private_data.size();
  state_->tell(asked, Kind::kRequest, 0, padded);
  return 0;
}

int SimulatedCm::accept(verbs::CmId* handle_of, const verbs::CmParameters& parameters) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmAccept, nullptr)) return failed(error);
  CmIdObject& id = object(handle_of);
  if (id.state != State::kIsAsked) return failed(EINVAL);
  id.state = State::kConnected;
  id.own.parameters = parameters;
  if (id.peer == nullptr) return 0;
  id.peer->theirs = id.own;
  state_->tell(*id.peer, Kind::kResponse, 0, parameters);
  return 0;
}

int SimulatedCm::refuse(verbs::CmId* id) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmRefuse, nullptr)) return failed(error);
  state_->part(object(id), Kind::kRejected, kRefused);
  return 0;
}

int SimulatedCm::establish(verbs::CmId* handle_of) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmEstablish, nullptr)) return failed(error);
  CmIdObject& id = object(handle_of);
  id.state = State::kConnected;
  if (id.peer != nullptr) state_->tell(*id.peer, Kind::kEstablished);
  return 0;
}

int SimulatedCm::init_qp_attr(verbs::CmId* handle_of, ibv_qp_attr* attributes, int* mask) noexcept {
  const std::scoped_lock lock(network_.mutex);
  if (const int error = network_.enter(Call::kCmInitQpAttr, nullptr)) return failed(error);
  const CmIdObject& id = object(handle_of);
  const bool known = attributes->qp_state == IBV_QPS_INIT || id.theirs.device != nullptr;
  if (id.own.device == nullptr || !known) return failed(EINVAL);
  fill(id, *attributes, *mask);
  return 0;
}

const char* SimulatedCm::device_name(const verbs::CmId* id) const noexcept {
  const std::scoped_lock lock(network_.mutex);
  const Device* const device = reinterpret_cast<const CmIdObject*>(id)->own.device;
  return device != nullptr ? device->name : nullptr;
}

std::uint8_t SimulatedCm::port(const verbs::CmId*) const noexcept {
  return 1;
}

}  // namespace weft::testing
