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

/// Keeps all CPUs of the machine out of sleep states that take longer than so many microseconds to leave, for
/// as long as it lives: a thread that waits is then woken sooner, and the machine draws more power. It is a
/// request to the kernel by way of /dev/cpu_dma_latency; the shortest of all processes' requests counts. It
/// is worth it for loops that sleep; one that asks without end keeps its own CPU awake. Thread: any.
class CpuLatency {
 public:
  /// Zero allows no sleep state at all.
  /// Errors: kInvalidArgument for a negative time; kUnimplemented where there is no such device, as in many
  /// containers and virtual machines; kPermissionDenied, with what to do, for who is not allowed to write it;
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
