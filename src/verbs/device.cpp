// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/verbs/device.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <tuple>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/verbs/status.hpp"

namespace weft::verbs {

namespace {

/// The list of devices, given back at its end.
class DeviceList {
 public:
  explicit DeviceList(Driver& driver) noexcept : driver_(driver), list_(driver.get_device_list(&count_)) {}
  DeviceList(const DeviceList&) = delete;
  DeviceList& operator=(const DeviceList&) = delete;
  ~DeviceList() {
    if (list_ != nullptr) driver_.free_device_list(list_);
  }
  bool ok() const noexcept { return list_ != nullptr; }
  std::span<ibv_device*> devices() const noexcept { return {list_, static_cast<std::size_t>(count_)}; }

 private:
  Driver& driver_;
  int count_ = 0;
  ibv_device** const list_;
};

GidType type_of(std::uint32_t type) {
  if (type == IBV_GID_TYPE_ROCE_V2) return GidType::kRoceV2;
  return type == IBV_GID_TYPE_ROCE_V1 ? GidType::kRoceV1 : GidType::kInfiniBand;
}

// libibverbs without a kernel module for RDMA says ENOSYS.
Status no_list(int error) {
  if (error == ENOSYS) {
    return {StatusCode::kUnavailable, Layer::kTransport,
            "this machine's kernel has no RDMA (is ib_uverbs loaded?)", error};
  }
  return call_status(error, "listing RDMA devices");
}

ibv_device* find(std::span<ibv_device*> devices, std::string_view name) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](ibv_device* device) { return name.empty() || name == device->name; });
  return found == devices.end() ? nullptr : *found;
}

Status not_found(std::span<ibv_device*> devices, std::string_view name) {
  std::string text = devices.empty() ? "this machine has no RDMA device" : "there is no RDMA device \"";
  if (!devices.empty()) text.append(name).append("\", only");
  for (const ibv_device* device : devices) text.append(" ").append(device->name);
  return {StatusCode::kNotFound, Layer::kTransport, std::move(text)};
}

void add_gids(Driver& driver, ibv_context* context, int length, Port& port) {
  for (int index = 0; index < length && index <= UINT8_MAX; ++index) {
    ibv_gid_entry entry{};
    const int error = driver.query_gid(context, port.number, static_cast<std::uint32_t>(index), &entry);
    if (error != 0) continue;
    Gid gid;
    std::copy(std::begin(entry.gid.raw), std::end(entry.gid.raw), gid.raw.begin());
    gid.index = static_cast<std::uint8_t>(index);
    gid.type = type_of(entry.gid_type);
    if (!gid.empty()) port.gids.push_back(gid);
  }
}

// libibverbs says of a device's file that it is not there, also when this user may not open it.
int why_not_opened(const ibv_device& device, int error) {
  const std::string file = std::string{"/dev/infiniband/"} + device.dev_name;
  const bool denied = ::access(file.c_str(), R_OK | W_OK) != 0 && errno == EACCES;
  return denied ? EACCES : error;
}

}  // namespace

std::string Gid::to_string() const {
  constexpr std::array<std::uint8_t, 12> kMappedIpv4{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const bool ipv4 = std::equal(kMappedIpv4.begin(), kMappedIpv4.end(), raw.begin());
  std::array<char, INET6_ADDRSTRLEN> text{};
  ::inet_ntop(ipv4 ? AF_INET : AF_INET6, raw.data() + (ipv4 ? kMappedIpv4.size() : 0), text.data(),
              text.size());
  return text.data();
}

std::optional<Gid> best_gid(std::span<const Gid> gids) noexcept {
  const auto rank = [](const Gid& gid) {
    const int kind = gid.type == GidType::kInfiniBand ? 0 : gid.type == GidType::kRoceV2 ? 1 : 2;
    return std::tuple(kind, gid.link_local(), gid.index);
  };
  const auto best = std::min_element(gids.begin(), gids.end(),
                                     [&](const Gid& a, const Gid& b) { return rank(a) < rank(b); });
  if (best == gids.end()) return std::nullopt;
  return *best;
}

Result<std::vector<std::string>> device_names(Driver& driver) {
  if (Status loaded = driver.load(); !loaded.ok()) return loaded;
  const DeviceList list{driver};
  if (!list.ok()) {
    if (errno == ENOSYS) return std::vector<std::string>{};
    return no_list(errno);
  }
  std::vector<std::string> names;
  for (const ibv_device* device : list.devices()) names.emplace_back(device->name);
  return names;
}

Result<std::shared_ptr<Device>> Device::open(std::string_view name, Driver& driver) {
  if (Status loaded = driver.load(); !loaded.ok()) return loaded;
  const DeviceList list{driver};
  if (!list.ok()) return no_list(errno);
  ibv_device* const found = find(list.devices(), name);
  if (found == nullptr) return not_found(list.devices(), name);
  ibv_context* const context = driver.open_device(found);
  if (context == nullptr) return call_status(why_not_opened(*found, errno), "opening an RDMA device");
  auto device = std::make_shared<Device>(Private{}, driver, context);
  if (const int error = driver.query_device(context, &device->attributes_); error != 0) {
    return call_status(error, "asking an RDMA device for its limits");
  }
  // Its events are read by loops, which never wait in a read.
  const int flags = ::fcntl(context->async_fd, F_GETFL);
  if (flags < 0 || ::fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK) < 0) {
    return call_status(errno, "an RDMA device's events");
  }
  return device;
}

Device::~Device() {
  driver_.close_device(context_);
}

Result<Port> Device::port(std::uint8_t number) const {
  if (number == 0 || number > attributes_.phys_port_cnt) {
    return Status{StatusCode::kInvalidArgument, Layer::kTransport,
                  std::string{name()} + " has the ports 1 to " + std::to_string(attributes_.phys_port_cnt)};
  }
  ibv_port_attr attributes{};
  if (const int error = driver_.query_port(context_, number, &attributes); error != 0) {
    return call_status(error, "asking an RDMA device for a port");
  }
  Port port{.number = number,
            .active = attributes.state == IBV_PORT_ACTIVE,
            .ethernet = attributes.link_layer == IBV_LINK_LAYER_ETHERNET,
            .lid = attributes.lid,
            .mtu = attributes.active_mtu,
            .gids = {}};
  add_gids(driver_, context_, attributes.gid_tbl_len, port);
  return port;
}

Result<Port> Device::active_port() const {
  for (unsigned number = 1; number <= attributes_.phys_port_cnt; ++number) {
    auto port = this->port(static_cast<std::uint8_t>(number));
    if (!port.ok() || port->active) return port;
  }
  return Status{StatusCode::kUnavailable, Layer::kTransport,
                std::string{"no port of "}.append(name()).append(" is active: is its network interface up?")};
}

Result<std::shared_ptr<ProtectionDomain>> ProtectionDomain::create(std::shared_ptr<Device> device) {
  ibv_pd* const handle = device->driver().alloc_pd(device->handle());
  if (handle == nullptr) return call_status(errno, "making a protection domain");
  return std::make_shared<ProtectionDomain>(Private{}, std::move(device), handle);
}

ProtectionDomain::~ProtectionDomain() {
  const int error = driver().dealloc_pd(handle_);
  WEFT_ASSERT(detail::has_ended(error), "what was made in a protection domain ends before it");
}

}  // namespace weft::verbs
