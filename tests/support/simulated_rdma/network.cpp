// SPDX-License-Identifier: Apache-2.0
#include "support/simulated_rdma/network.hpp"

#include <arpa/inet.h>

#include <cstring>

namespace weft::testing {

namespace {

ibv_port_attr active_port(std::uint8_t link_layer) {
  ibv_port_attr port{};
  port.state = IBV_PORT_ACTIVE;
  port.max_mtu = IBV_MTU_4096;
  port.active_mtu = link_layer == IBV_LINK_LAYER_ETHERNET ? IBV_MTU_1024 : IBV_MTU_4096;
  port.max_msg_sz = 1u << 30;
  port.pkey_tbl_len = 1;
  port.link_layer = link_layer;
  return port;
}

SimulatedDevice plain_device(std::string name) {
  SimulatedDevice device;
  device.name = std::move(name);
  ibv_device_attr& limits = device.attributes;
  std::strcpy(limits.fw_ver, "simulated");
  limits.max_mr_size = UINT64_MAX;
  limits.page_size_cap = 0xfffff000;
  limits.max_qp = 65536;
  limits.max_qp_wr = 16384;
  limits.max_sge = limits.max_sge_rd = limits.max_srq_sge = 16;
  limits.max_cq = limits.max_mr = limits.max_pd = limits.max_srq = 65536;
  limits.max_cqe = 65536;
  limits.max_qp_rd_atom = limits.max_qp_init_rd_atom = 16;
  limits.max_srq_wr = 32768;
  limits.atomic_cap = IBV_ATOMIC_HCA;
  limits.phys_port_cnt = 1;
  limits.max_pkeys = 1;
  return device;
}

SimulatedGid gid(const char* address, ibv_gid_type type) {
  SimulatedGid made{.type = type};
  ::inet_pton(AF_INET6, address, made.gid.raw);
  return made;
}

}  // namespace

SimulatedDevice roce_device(std::string name, std::uint8_t host) {
  SimulatedDevice device = plain_device(std::move(name));
  const std::string number = std::to_string(host);
  const std::string local = "fe80::" + number;
  const std::string global = "::ffff:10.0.0." + number;
  device.ports.push_back(
      {active_port(IBV_LINK_LAYER_ETHERNET),
       {gid(local.c_str(), IBV_GID_TYPE_ROCE_V1), gid(local.c_str(), IBV_GID_TYPE_ROCE_V2),
        gid(global.c_str(), IBV_GID_TYPE_ROCE_V1), gid(global.c_str(), IBV_GID_TYPE_ROCE_V2)}});
  device.ports[0].attributes.gid_tbl_len = 4;
  return device;
}

SimulatedDevice infiniband_device(std::string name, std::uint16_t lid) {
  SimulatedDevice device = plain_device(std::move(name));
  const std::string address = "fe80::1b:" + std::to_string(lid % 10000);
  device.ports.push_back({active_port(IBV_LINK_LAYER_INFINIBAND), {gid(address.c_str(), IBV_GID_TYPE_IB)}});
  device.ports[0].attributes.gid_tbl_len = 1;
  device.ports[0].attributes.lid = lid;
  return device;
}

namespace simulated {

int Network::enter(Call call, Device* device) {
  const auto index = static_cast<std::size_t>(call);
  ++(device != nullptr ? device->counters : counters).calls[index];
  CallFailure& failure = failures[index];
  if (failure.device != nullptr && failure.device != device) return 0;
  if (failure.error == 0 || failure.countdown == 0) return failure.error;
  return --failure.countdown == 0 ? std::exchange(failure.error, 0) : 0;
}

std::vector<Device*> Network::named(std::string_view name) const {
  std::vector<Device*> found;
  for (const auto& device : devices) {
    if (name.empty() || device->description.name == name) found.push_back(device.get());
  }
  return found;
}

Region* Network::region(Device& device, const ibv_pd* domain, std::uint32_t key, std::uint64_t address,
                        std::uint64_t bytes, int access) const {
  const auto found = device.regions.find(key >> 8);
  if (found == device.regions.end()) return nullptr;
  Region& region = *found->second;
  const auto start = reinterpret_cast<std::uint64_t>(region.addr);
  const bool inside = address >= start && bytes <= region.length && address - start <= region.length - bytes;
  const bool right_key = key == region.lkey || key == region.rkey;
  return right_key && inside && region.pd == domain && (region.access & access) == access ? &region : nullptr;
}

}  // namespace simulated
}  // namespace weft::testing
