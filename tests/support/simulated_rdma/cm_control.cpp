// SPDX-License-Identifier: Apache-2.0
// How events of the simulated connection manager come, and what a test does to them.
#include "support/simulated_rdma/cm.hpp"

namespace weft::testing {

using namespace simulated;
using State = CmIdObject::State;

namespace simulated {

CmIdObject* CmState::add(CmChannelObject& channel) {
  CmIdObject* const id = ids.add(std::make_unique<CmIdObject>());
  id->channel = &channel;
  return id;
}

CmIdObject* CmState::listener(std::uint16_t port) const {
  for (const auto& id : ids) {
    if (id->state == State::kListening && (port == 0 || id->port == port)) return id.get();
  }
  return nullptr;
}

void CmState::tell(CmIdObject& id, CmEvent::Kind kind, int status, const verbs::CmParameters& parameters) {
  if (turn && turn->kind == kind) {
    const Turn its = *std::exchange(turn, std::nullopt);
    if (!its.into) return lose(id, kind);
    kind = *its.into;
    status = its.status;
  }
  const CmEvent event{.kind = kind,
                      .id = handle(id),
                      .status = status,
                      .words = "a simulated event",
                      .parameters = parameters};
  if (hold) {
    held.emplace_back(id.channel, event);
  } else {
    id.channel->events.add(event);
  }
}

// A request that is lost on its way has made nothing at the other side.
void CmState::lose(CmIdObject& id, CmEvent::Kind kind) {
  if (kind != CmEvent::Kind::kRequest) return;
  id.peer->peer = nullptr;
  ids.remove(&id);
}

void CmState::part(CmIdObject& id, CmEvent::Kind kind, int status) {
  id.state = State::kOver;
  CmIdObject* const peer = std::exchange(id.peer, nullptr);
  if (peer == nullptr) return;
  peer->peer = nullptr;
  tell(*peer, kind, status);
}

void CmState::remove(CmIdObject& id) {
  using Kind = CmEvent::Kind;
  part(id,
       id.state == State::kConnected ? Kind::kDisconnected
       : id.state == State::kIsAsked ? Kind::kRejected
                                     : Kind::kFailed,
       id.state == State::kConnected ? 0 : ECONNRESET);
  const auto about = [&](const CmEvent& event) { return event.id == handle(id); };
  id.channel->events.drop_if(about);
  std::erase_if(held, [&](const auto& waiting) { return about(waiting.second); });
  ids.remove(&id);
}

}  // namespace simulated

void SimulatedCm::route(std::string_view from, std::string_view to) {
  const std::scoped_lock lock(network_.mutex);
  state_->from = network_.named(from).front();
  state_->to = network_.named(to).front();
}

void SimulatedCm::turn(Kind kind, Kind into, int status) {
  const std::scoped_lock lock(network_.mutex);
  state_->turn = {kind, into, status};
}

void SimulatedCm::lose(Kind kind) {
  const std::scoped_lock lock(network_.mutex);
  state_->turn = {kind, std::nullopt};
}

void SimulatedCm::hold() {
  const std::scoped_lock lock(network_.mutex);
  state_->hold = true;
}

void SimulatedCm::release() {
  const std::scoped_lock lock(network_.mutex);
  state_->hold = false;
  for (; !state_->held.empty(); state_->held.pop_front()) {
    state_->held.front().first->events.add(state_->held.front().second);
  }
}

bool SimulatedCm::step() {
  const std::scoped_lock lock(network_.mutex);
  if (state_->held.empty()) return false;
  state_->held.front().first->events.add(state_->held.front().second);
  state_->held.pop_front();
  return true;
}

void SimulatedCm::raise(Kind kind) {
  const std::scoped_lock lock(network_.mutex);
  for (const auto& id : state_->ids) {
    if (id->state != State::kListening && id->state != State::kIdle) state_->tell(*id, kind);
  }
}

std::uint16_t SimulatedCm::listening_port() const {
  const std::scoped_lock lock(network_.mutex);
  const CmIdObject* const listener = state_->listener(0);
  return listener != nullptr ? listener->port : std::uint16_t{0};
}

std::size_t SimulatedCm::channels() const {
  const std::scoped_lock lock(network_.mutex);
  return state_->channels.size();
}

std::size_t SimulatedCm::ids() const {
  const std::scoped_lock lock(network_.mutex);
  return state_->ids.size();
}

}  // namespace weft::testing
