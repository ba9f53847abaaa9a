// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "weft/detail/base/result.hpp"
#include "weft/detail/verbs/driver.hpp"

namespace weft::verbs {

/// Says how packets with a GID travel.
enum class GidType : std::uint8_t { kInfiniBand, kRoceV1, kRoceV2 };

/// An address of a port: 16 bytes that look like an IPv6 address, and its place in the port's table.
struct Gid {
  std::array<std::uint8_t, 16> raw{};
  std::uint8_t index = 0;
  GidType type = GidType::kInfiniBand;

  bool link_local() const noexcept { return raw[0] == 0xFE && (raw[1] & 0xC0) == 0x80; }
  bool empty() const noexcept { return raw == std::array<std::uint8_t, 16>{}; }
  /// Returns it as an IPv6 address, or as the IPv4 address that it stands for.
  std::string to_string() const;
};

/// The one of `gids` that reaches furthest: InfiniBand before RoCE v2 before RoCE v1, and of one kind global
/// before link-local. Nothing when there is none.
std::optional<Gid> best_gid(std::span<const Gid> gids) noexcept;

/// One of a device's ports.
struct Port {
  std::uint8_t number = 0;
  bool active = false;
  bool ethernet = false;
  std::uint16_t lid = 0;
  ibv_mtu mtu = IBV_MTU_256;
  std::vector<Gid> gids;
};

/// Bytes of an MTU.
constexpr std::size_t mtu_bytes(ibv_mtu mtu) noexcept {
  return std::size_t{128} << static_cast<unsigned>(mtu);
}

/// Returns the names of the machine's RDMA devices; empty when there are none. Errors: kUnimplemented if
/// libibverbs is not installed.
Result<std::vector<std::string>> device_names(Driver& driver = system_driver());

/// An opened RDMA device. Shared by everything that was made from it. Thread: any.
class Device {
  struct Private {
    explicit Private() = default;
  };

 public:
  /// Opens the device `name`, or the first device if `name` is empty. Errors: kNotFound if no device has this
  /// name (the text lists the existing ones), kPermissionDenied, kUnimplemented if libibverbs is not
  /// installed.
  static Result<std::shared_ptr<Device>> open(std::string_view name = {}, Driver& driver = system_driver());
  Device(Private, Driver& driver, ibv_context* context) noexcept : driver_(driver), context_(context) {}
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  ibv_context* handle() const noexcept { return context_; }
  Driver& driver() const noexcept { return driver_; }
  std::string_view name() const noexcept { return context_->device->name; }
  /// Its limits.
  const ibv_device_attr& attributes() const noexcept { return attributes_; }
  /// Returns how the port is now. Errors: kInvalidArgument when there is no port of that number.
  Result<Port> port(std::uint8_t number) const;
  /// The first port that is active. Errors: kUnavailable when none is.
  Result<Port> active_port() const;

 private:
  Driver& driver_;
  ibv_context* const context_;
  ibv_device_attr attributes_{};
};

/// Protection domain: queue pairs and memory regions of one domain can be used together. Thread: any.
class ProtectionDomain {
  struct Private {
    explicit Private() = default;
  };

 public:
  static Result<std::shared_ptr<ProtectionDomain>> create(std::shared_ptr<Device> device);
  ProtectionDomain(Private, std::shared_ptr<Device> device, ibv_pd* handle) noexcept
      : device_(std::move(device)), handle_(handle) {}
  ~ProtectionDomain();
  ProtectionDomain(const ProtectionDomain&) = delete;
  ProtectionDomain& operator=(const ProtectionDomain&) = delete;

  ibv_pd* handle() const noexcept { return handle_; }
  Device& device() const noexcept { return *device_; }
  const std::shared_ptr<Device>& shared_device() const noexcept { return device_; }
  Driver& driver() const noexcept { return device_->driver(); }

 private:
  const std::shared_ptr<Device> device_;
  ibv_pd* const handle_;
};

}  // namespace weft::verbs
