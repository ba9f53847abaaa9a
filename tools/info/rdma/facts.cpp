// SPDX-License-Identifier: Apache-2.0
// For a build with libibverbs.
#include "info/rdma/facts.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "weft/detail/verbs/device.hpp"

namespace weft::info {
namespace {

std::string type_name(verbs::GidType type) {
  if (type == verbs::GidType::kRoceV2) return "RoCE v2";
  return type == verbs::GidType::kRoceV1 ? "RoCE v1" : "InfiniBand";
}

const char* state_name(ibv_port_state state) {
  switch (state) {
    case IBV_PORT_NOP:
      return "unchanged";
    case IBV_PORT_DOWN:
      return "down";
    case IBV_PORT_INIT:
      return "init";
    case IBV_PORT_ARMED:
      return "armed";
    case IBV_PORT_ACTIVE:
      return "active";
    case IBV_PORT_ACTIVE_DEFER:
      return "active defer";
  }
  return "unknown";
}

/// Says why best_gid() of `gids` is `best`.
std::string why_best(const verbs::Gid& best, std::span<const verbs::Gid> gids) {
  if (gids.size() == 1) return "it is the only one";
  const auto any = [&](auto of_which) { return std::any_of(gids.begin(), gids.end(), of_which); };
  std::string why;
  if (any([&](const verbs::Gid& gid) { return gid.type != best.type; })) {
    why = type_name(best.type) + " comes before the other types, and of these ";
  }
  const bool nearer = any(
      [&](const verbs::Gid& gid) { return gid.type == best.type && gid.link_local() && !best.link_local(); });
  why += nearer ? "an address that is not link-local, the first of them" : "the first one";
  return why;
}

/// Marks what a connection over `port` would use, and says why.
std::string choose_gid(const std::vector<verbs::Gid>& gids, const Options& options, RdmaPort& port) {
  const auto wanted = options.rdma.gid_index;
  const auto best = verbs::best_gid(gids);
  for (RdmaGid& gid : port.gids) {
    gid.chosen = wanted ? gid.index == *wanted : best && gid.index == best->index;
    if (!gid.chosen) continue;
    return "GID " + std::to_string(gid.index) + " (" + gid.address + ", " + gid.type +
           "): " + (wanted ? "--rdma-gid-index says so" : why_best(*best, gids));
  }
  if (!wanted && port.link == "InfiniBand") return "its LID: no GID is set";
  port.chosen = false;
  return wanted ? "cannot be used: there is no GID " + std::to_string(*wanted) +
                      ", which --rdma-gid-index asks for"
                : std::string{"cannot be used: it has no GID; give its network interface an address"};
}

Result<RdmaPort> describe(const verbs::Device& device, const verbs::Port& port) {
  ibv_port_attr attributes{};
  if (const int error = device.driver().query_port(device.handle(), port.number, &attributes); error != 0) {
    return Status{StatusCode::kUnavailable, Layer::kTransport, std::strerror(error), error};
  }
  RdmaPort described;
  described.number = port.number;
  described.state = state_name(attributes.state);
  described.link = port.ethernet ? "Ethernet" : "InfiniBand";
  described.lid = port.lid;
  described.mtu = static_cast<unsigned>(verbs::mtu_bytes(attributes.active_mtu));
  described.mtu_max = static_cast<unsigned>(verbs::mtu_bytes(attributes.max_mtu));
  for (const verbs::Gid& gid : port.gids) {
    described.gids.push_back({.index = gid.index, .type = type_name(gid.type), .address = gid.to_string()});
  }
  return described;
}

/// Its ports, and which of them a connection would use: the first that is active.
void look_at_ports(const verbs::Device& device, const Options& options, RdmaDevice& described) {
  bool found = false;
  for (unsigned number = 1; number <= device.attributes().phys_port_cnt; ++number) {
    const auto port = device.port(static_cast<std::uint8_t>(number));
    auto made = port.ok() ? describe(device, *port) : Result<RdmaPort>{port.status()};
    if (!made.ok()) {
      described.failure = made.status().message();
      continue;
    }
    made->chosen = port->active && !found;
    if (made->chosen) {
      found = true;
      described.choice = "port " + std::to_string(number) +
                         ", the first that is active: " + choose_gid(port->gids, options, *made);
    }
    described.ports.push_back(*std::move(made));
  }
  if (!found) described.choice = "not used: no port is active; is its network interface up?";
}

RdmaDevice look_at(const std::string& name, const Options& options, verbs::Driver& driver) {
  RdmaDevice described;
  described.name = name;
  const auto device = verbs::Device::open(name, driver);
  if (!device.ok()) {
    described.failure = device.status().message();
    return described;
  }
  look_at_ports(**device, options, described);
  if (options.rdma.device.empty() || options.rdma.device == name) return described;
  for (RdmaPort& port : described.ports) {
    port.chosen = false;
    for (RdmaGid& gid : port.gids) gid.chosen = false;
  }
  described.choice = "not used: --rdma-device asks for " + options.rdma.device;
  return described;
}

}  // namespace

bool RdmaFacts::any_chosen() const {
  return std::any_of(devices.begin(), devices.end(), [](const RdmaDevice& device) {
    return std::any_of(device.ports.begin(), device.ports.end(),
                       [](const RdmaPort& port) { return port.chosen; });
  });
}

Result<RdmaFacts> rdma_facts(const Options& options, verbs::Driver* driver) {
  verbs::Driver& devices = driver != nullptr ? *driver : verbs::system_driver();
  const auto names = verbs::device_names(devices);
  if (!names.ok()) return names.status();
  RdmaFacts facts;
  for (const std::string& name : *names) facts.devices.push_back(look_at(name, options, devices));
  if (options.rdma.device.empty() && !options.rdma.gid_index) return facts;
  if (!options.rdma.device.empty()) {
    const auto wanted = verbs::Device::open(options.rdma.device, devices);
    if (!wanted.ok()) return wanted.status();
  }
  if (facts.any_chosen()) return facts;
  std::string why = "no RDMA device can be used with these options";
  for (const RdmaDevice& device : facts.devices) {
    why += "; " + device.name + ": " + (device.failure.empty() ? device.choice : device.failure);
  }
  return Status{StatusCode::kFailedPrecondition, Layer::kTransport, std::move(why)};
}

}  // namespace weft::info
