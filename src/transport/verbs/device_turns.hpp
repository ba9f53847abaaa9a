// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "weft/detail/transport/verbs.hpp"
#include "weft/detail/verbs/driver.hpp"

namespace weft::detail::verbs_carrier {

/// Devices that a connection tries, the best one first. Thread: one at a time.
class DeviceTurns {
 public:
  /// `driver` outlives this.
  DeviceTurns(verbs::Driver& driver, DeviceChoice choice) noexcept : driver_(driver), choice_(choice) {}

  /// Returns `devices` in the order in which the next connection should try them, for a loop on the calling
  /// thread. Devices on the thread's NUMA node come first and rotate from call to call; more distant devices
  /// follow as a fallback.
  std::vector<std::string> next(std::vector<std::string> devices);

 private:
  int distance(int from, const std::string& device) const;

  verbs::Driver& driver_;
  const DeviceChoice choice_;
  /// Number of times that was asked on each node.
  std::map<int, std::size_t> asked_;
};

}  // namespace weft::detail::verbs_carrier
