// SPDX-License-Identifier: Apache-2.0
#include "transport/simulated/circuit.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "transport/simulated/simulated_carrier.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::simulated {

Circuit::Circuit(std::shared_ptr<Network> network, Host& client, Host& server, const std::string& url)
    : network_(std::move(network)),
      url_(url),
      number_(network_->counters().connections_made++),
      directions_{{*network_, client, server, 2 * number_}, {*network_, server, client, 2 * number_ + 1}},
      ends_{{*this, End::kClient}, {*this, End::kServer}} {
  client.ends.push_back(at(End::kClient));
  server.ends.push_back(at(End::kServer));
  ++network_->counters().connections_open;
  network_->note(Trace::Event::kOpened, number_);
}

Circuit::~Circuit() {
  --network_->counters().connections_open;
}

void Circuit::attach(End end, SimulatedCarrier& carrier) {
  at(end).carrier = &carrier;
  at(end).readable = to(end).has_arrived();
  arm_next();
}

void Circuit::detach(End end) {
  CircuitEnd& its = at(end);
  its.carrier = nullptr;
  if (std::exchange(its.gone, true)) return;
  if (its.error == 0) {
    if (to(end).drop_arrived()) {
      ++network_->counters().resets;
      from(end).reset();
    } else {
      from(end).end();
    }
  }
  arm_next();
}

Moved Circuit::send(End end, std::span<const iovec> from_there) {
  if (at(end).error != 0) return Moved::failed(at(end).error == ECONNRESET ? EPIPE : at(end).error);
  Direction& direction = from(end);
  if (direction.sender().state == Host::State::kStopped) return Moved::blocked();
  const std::size_t sent = direction.send(from_there);
  if (sent == 0) return Moved::blocked();
  arm_next();
  return Moved::some(sent, false);
}

Moved Circuit::receive(End end, std::span<const iovec> into) {
  Direction& direction = to(end);
  if (direction.receiver().state == Host::State::kStopped) return Moved::blocked();
  const std::size_t received = direction.receive(into);
  if (received > 0) {
    at(other(end)).writable |= direction.acknowledge();
    arm_next();
    return Moved::some(received, false);
  }
  if (at(end).error != 0) return Moved::failed(at(end).error);
  return direction.at_end() ? Moved::ended() : Moved::blocked();
}

void Circuit::end_sending(End end) {
  if (at(end).error != 0 || at(end).gone) return;
  from(end).end();
  arm_next();
}

void Circuit::crash(End end, bool told) {
  CircuitEnd& its = at(end);
  its.gone = true;
  to(end).drop_arrived();
  if (its.error == 0) {
    ++network_->counters().resets;
    if (told) {
      from(end).reset();
    } else {
      from(end).vanish();
    }
  }
  its.error = ECONNRESET;
  its.readable = its.writable = true;
  network_->note(Trace::Event::kCrashed, number_);
  arm_next();
}

void Circuit::resume(End end) {
  at(end).writable |= from(end).try_again();
  at(end).readable = at(end).writable = true;
  arm_next();
}

// A notification may destroy one carrier or both, and with them every reference to this circuit.
void Circuit::on_timer() {
  const auto self = shared_from_this();
  run(End::kClient);
  run(End::kServer);
  tell(End::kClient);
  tell(End::kServer);
  arm_next();
}

void Circuit::run(End sender) {
  const Direction::Happened happened = from(sender).run();
  CircuitEnd& its = at(sender);
  if (happened.room) its.writable = true;
  if (happened.given_up && its.error == 0) {
    ++network_->counters().resets;
    its.error = ETIMEDOUT;
    its.readable = its.writable = true;
  }
  if (!happened.arrived) return;
  CircuitEnd& receiver = at(other(sender));
  if (from(sender).is_reset()) {
    if (receiver.error == 0) receiver.error = ECONNRESET;
    to(sender).vanish();
    receiver.writable = true;
  }
  receiver.readable = true;
  if (!receiver.gone) return;
  // The receiver is gone: a crashed host answers everything with a reset, a closed end answers bytes with
  // one.
  const bool bytes = from(sender).drop_arrived();
  if ((bytes || receiver.error != 0) && !from(sender).is_reset()) to(sender).reset();
}

void Circuit::tell(End end) {
  CircuitEnd& its = at(end);
  if (from(end).sender().state == Host::State::kStopped) return;
  const bool readable = std::exchange(its.readable, false);
  const bool writable = std::exchange(its.writable, false);
  if (readable && its.carrier != nullptr) its.carrier->tell_readable();
  if (writable && its.carrier != nullptr) its.carrier->tell_writable();
}

bool Circuit::has_to_tell(const CircuitEnd& end, const Direction& sending) const {
  return (end.readable || end.writable) && end.carrier != nullptr &&
         sending.sender().state != Host::State::kStopped;
}

void Circuit::arm_next() {
  Loop& loop = network_->loop();
  TimePoint next = std::min(directions_[0].next(), directions_[1].next());
  if (has_to_tell(ends_[0], directions_[0]) || has_to_tell(ends_[1], directions_[1])) next = network_->now();
  if (next == Direction::kNever) {
    if (armed()) loop.disarm(*this);
  } else if (!armed() || Timer::at() != next) {
    loop.arm(*this, next);
  }
}

}  // namespace weft::detail::simulated
