// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <utility>

#include "weft/detail/base/result.hpp"

namespace weft {

class CpuLatency;

namespace detail {
Result<CpuLatency> request_cpu_latency(const char* device, std::chrono::microseconds at_most);
}

/// Keeps all CPUs of the machine out of sleep states with an exit latency above the given number of
/// microseconds, for the lifetime of this object: a waiting thread is woken sooner, and the machine draws
/// more power. Implemented as a request to the kernel through /dev/cpu_dma_latency; the shortest request of
/// all processes counts. Useful for loops that sleep; a busy loop keeps its own CPU awake. Thread: any.
class CpuLatency {
 public:
  /// Zero allows no sleep state at all.
  /// Errors: kInvalidArgument for a negative time; kUnimplemented where the device does not exist, as in many
  /// containers and virtual machines; kPermissionDenied, with advice, without the right to write it;
  /// otherwise the system's, with errno.
  static Result<CpuLatency> request(std::chrono::microseconds at_most);

  CpuLatency(CpuLatency&& other) noexcept : device_(std::exchange(other.device_, -1)) {}
  CpuLatency& operator=(CpuLatency&& other) noexcept {
    std::swap(device_, other.device_);
    return *this;
  }
  /// Takes the request back.
  ~CpuLatency();

 private:
  friend Result<CpuLatency> detail::request_cpu_latency(const char*, std::chrono::microseconds);
  explicit CpuLatency(int device) noexcept : device_(device) {}

  int device_;
};

}  // namespace weft
