// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "load/options.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/runtime/loop_options.hpp"

namespace weft::perf {

/// The largest payload that a measurement may ask for.
inline constexpr std::uint64_t kPayloadBytesMax = std::uint64_t{1} << 30;

/// Limits that no flag of a measurement runs into.
inline RpcLimits generous_limits() {
  RpcLimits limits;
  limits.body_bytes_max = std::uint32_t{kPayloadBytesMax} + 4096;
  limits.attachment_bytes_max = kPayloadBytesMax;
  limits.calls_in_flight_max = 1U << 20;
  return limits;
}

inline WaitMode wait_mode(load::LoopMode mode) {
  switch (mode) {
    case load::LoopMode::kBusy:
      return WaitMode::kBusy;
    case load::LoopMode::kAdaptive:
      return WaitMode::kAdaptive;
    case load::LoopMode::kWait:
      break;
  }
  return WaitMode::kWait;
}

}  // namespace weft::perf
