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

  /// `devices` in the order in which this call's connection, of a loop on the calling thread, tries them.
  /// Those that are equally good come first in turn; then what is further away, for when none of those can be
  /// had.
  std::vector<std::string> next(std::vector<std::string> devices);

 private:
  int distance(int from, const std::string& device) const;

  verbs::Driver& driver_;
  const DeviceChoice choice_;
  /// Number of times that was asked on each node.
  std::map<int, std::size_t> asked_;
};

}  // namespace weft::detail::verbs_carrier
