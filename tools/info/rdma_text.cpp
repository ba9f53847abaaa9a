// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "info/report.hpp"
#include "info/words.hpp"

namespace weft::info {
namespace {

std::string port_text(const RdmaPort& port) {
  std::string text = port.state + ", " + port.link + ", MTU " + std::to_string(port.mtu);
  if (port.mtu != port.mtu_max) text += " of " + std::to_string(port.mtu_max);
  if (port.link == "InfiniBand") text += ", LID " + std::to_string(port.lid);
  return text;
}

std::string device_text(const RdmaDevice& device) {
  std::string text;
  if (!device.failure.empty()) text += row(device.name, device.failure);
  for (const RdmaPort& port : device.ports) {
    text += row(device.name + " port " + std::to_string(port.number), port_text(port));
    for (const RdmaGid& gid : port.gids) {
      text += row("  GID " + std::to_string(gid.index),
                  gid.type + ", " + gid.address + (gid.chosen ? "   <- chosen" : ""));
    }
  }
  if (!device.choice.empty()) text += row("  connections", device.choice);
  return text;
}

}  // namespace

bool RdmaFacts::any_chosen() const {
  return std::any_of(devices.begin(), devices.end(), [](const RdmaDevice& device) {
    return std::any_of(device.ports.begin(), device.ports.end(),
                       [](const RdmaPort& port) { return port.chosen; });
  });
}

std::string rdma_text(const Result<RdmaFacts>& rdma, const Options& options) {
  std::string text = heading("RDMA devices");
  if (!rdma.ok()) return text + "  " + std::string{rdma.status().message()} + "\n";
  if (rdma->devices.empty()) {
    return text + "  this machine has none (./dev rdma-vm emulates one, for tests)\n";
  }
  for (const RdmaDevice& device : rdma->devices) text += device_text(device);
  if (rdma->devices.size() > 1 && options.rdma.device.empty()) {
    text += row("several devices", "connections take those that can be used in turn");
  }
  text += "\n" + heading("Weft's options for verbs:// (VerbsOptions)");
  text += words_text(effective_verbs_options(options));
  return text;
}

}  // namespace weft::info
