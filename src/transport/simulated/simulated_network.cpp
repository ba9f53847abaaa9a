// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/simulated_network.hpp"

#include "transport/simulated/circuit.hpp"
#include "transport/simulated/host_transport.hpp"
#include "transport/simulated/network.hpp"
#include "transport/simulated/simulated_listener.hpp"

namespace weft {

namespace {

using detail::simulated::CircuitEnd;
using detail::simulated::Host;
using detail::simulated::Network;
using detail::simulated::SimulatedListener;
using detail::simulated::Trace;

// The programs of the host die.
void end_programs(Network& network, Host& host, bool peers_are_told) {
  host.ends.for_each([&](CircuitEnd& end) { end.circuit.crash(end.end, peers_are_told); });
  // What waits there to be accepted goes with it, and sends nothing more.
  network.for_each_listener_of(host, [](SimulatedListener& listener) { listener.close(); });
}

}  // namespace

std::unique_ptr<detail::Transport> SimulatedHost::transport() const {
  return std::make_unique<detail::simulated::HostTransport>(network_, *host_);
}

const std::string& SimulatedHost::name() const {
  return host_->name;
}

const SimulatedLink& SimulatedHost::outgoing() const {
  return host_->out.link;
}

const SimulatedLink& SimulatedHost::incoming() const {
  return host_->in.link;
}

void SimulatedHost::set_outgoing(const SimulatedLink& link) {
  host_->out.link = link;
  network_->note(Trace::Event::kLink, 2 * std::uint64_t{host_->index});
}

void SimulatedHost::set_incoming(const SimulatedLink& link) {
  host_->in.link = link;
  network_->note(Trace::Event::kLink, 2 * std::uint64_t{host_->index} + 1);
}

void SimulatedHost::set_blocked(bool blocked) {
  host_->in.link.blocked = blocked;
  host_->out.link.blocked = blocked;
  network_->note(Trace::Event::kLink, 2 * std::uint64_t{host_->index});
}

void SimulatedHost::set_side(std::uint32_t side) {
  host_->side = side;
  network_->note(Trace::Event::kLink, 2 * std::uint64_t{host_->index});
}

void SimulatedHost::crash() {
  end_programs(*network_, *host_, true);
  if (host_->state == Host::State::kStopped) host_->state = Host::State::kRunning;
}

void SimulatedHost::power_off() {
  end_programs(*network_, *host_, false);
  host_->state = Host::State::kOff;
  network_->note(Trace::Event::kPower, 2 * std::uint64_t{host_->index});
}

void SimulatedHost::power_on() {
  if (host_->state == Host::State::kOff) host_->state = Host::State::kRunning;
  network_->note(Trace::Event::kPower, 2 * std::uint64_t{host_->index} + 1);
}

void SimulatedHost::stop() {
  if (host_->state == Host::State::kRunning) host_->state = Host::State::kStopped;
  network_->note(Trace::Event::kStopped, 2 * std::uint64_t{host_->index});
}

void SimulatedHost::resume() {
  if (host_->state != Host::State::kStopped) return;
  host_->state = Host::State::kRunning;
  network_->note(Trace::Event::kStopped, 2 * std::uint64_t{host_->index} + 1);
  network_->for_each_listener_of(*host_, [](SimulatedListener& listener) { listener.resume(); });
  host_->ends.for_each([](CircuitEnd& end) { end.circuit.resume(end.end); });
}

SimulatedNetwork::SimulatedNetwork(Loop& loop, const SimulatedNetworkOptions& options)
    : network_(std::make_shared<Network>(loop, options)) {}
SimulatedNetwork::~SimulatedNetwork() = default;

SimulatedHost SimulatedNetwork::host(std::string_view name) {
  return {network_, network_->host(name)};
}

void SimulatedNetwork::set_blocked(const SimulatedHost& from, const SimulatedHost& to, bool blocked) {
  network_->set_blocked(*from.host_, *to.host_, blocked);
}

void SimulatedNetwork::set_options(const SimulatedNetworkOptions& options) {
  network_->set_options(options);
}

SimulatedNetworkStats SimulatedNetwork::stats() const {
  return network_->stats();
}

}  // namespace weft
