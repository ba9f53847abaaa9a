// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "info/options.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::verbs {
class Driver;
}

namespace weft::info {

/// An address of a port, and its place in the port's table.
struct RdmaGid {
  unsigned index = 0;
  std::string type;  ///< "InfiniBand", "RoCE v1", "RoCE v2"
  std::string address;
  bool chosen = false;
};

/// One of a device's ports.
struct RdmaPort {
  unsigned number = 0;
  std::string state;  ///< as libibverbs says it
  std::string link;   ///< "InfiniBand", "Ethernet"
  unsigned lid = 0;
  unsigned mtu = 0;
  unsigned mtu_max = 0;
  std::vector<RdmaGid> gids;
  /// A connection would use it.
  bool chosen = false;
};

struct RdmaDevice {
  std::string name;
  /// Reason for which it could not be looked at; then there are no ports.
  std::string failure;
  std::vector<RdmaPort> ports;
  /// Says which part of it connections would use, and why; or why they would not use it.
  std::string choice;
};

/// RDMA as this machine has it. No devices: the machine has none.
struct RdmaFacts {
  std::vector<RdmaDevice> devices;

  bool any_chosen() const;
};

/// The devices of the machine, or of `driver`. Errors: kUnimplemented in a build without libibverbs;
/// kNotFound for a device of the options that is not there, kFailedPrecondition for one that cannot be used;
/// what listing devices can fail with.
Result<RdmaFacts> rdma_facts(const Options& options, verbs::Driver* driver = nullptr);

}  // namespace weft::info
