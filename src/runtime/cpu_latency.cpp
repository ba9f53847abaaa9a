// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/runtime/cpu_latency.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <limits>
#include <string>

#include "runtime/descriptor.hpp"

namespace weft {

namespace {

Status refusal(const char* device, int error) {
  const std::string asking = std::string{"asking the kernel for a CPU latency by way of "} + device;
  if (error == ENOENT || error == ENXIO || error == ENODEV) {
    return {StatusCode::kUnimplemented, Layer::kRuntime,
            asking + ": there is no such device here; go on without, or hand it to the container", error};
  }
  if (error == EACCES || error == EPERM) {
    return {StatusCode::kPermissionDenied, Layer::kRuntime,
            asking + ": not permitted; run as root, or let your user write the device (a udev rule)", error};
  }
  return detail::errno_status(Layer::kRuntime, asking, error);
}

}  // namespace

namespace detail {

Result<CpuLatency> request_cpu_latency(const char* device, std::chrono::microseconds at_most) {
  if (at_most.count() < 0) {
    return Status{StatusCode::kInvalidArgument, Layer::kRuntime,
                  "CpuLatency: a negative time; give zero or more microseconds"};
  }
  Descriptor opened{::open(device, O_WRONLY | O_CLOEXEC)};
  if (!opened) return refusal(device, errno);
  using Limits = std::numeric_limits<std::int32_t>;
  const auto value = static_cast<std::int32_t>(std::min<std::int64_t>(at_most.count(), Limits::max()));
  // The kernel takes these four bytes whole or not at all.
  if (::write(opened.get(), &value, sizeof value) < 0) return refusal(device, errno);
  return CpuLatency{opened.release()};
}

}  // namespace detail

Result<CpuLatency> CpuLatency::request(std::chrono::microseconds at_most) {
  return detail::request_cpu_latency("/dev/cpu_dma_latency", at_most);
}

CpuLatency::~CpuLatency() {
  if (device_ >= 0) ::close(device_);
}

}  // namespace weft
