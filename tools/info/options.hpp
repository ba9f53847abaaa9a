// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "load/options.hpp"

namespace weft::info {

/// What `weft info` can be told.
struct Options {
  /// A server to connect to; empty: only what is here.
  std::string connect = {};
  /// With a tcp:// or unix:// URL: use UCX if the server offers it.
  bool prefer_ucx = false;
  /// UCX's transports and devices by name; empty means UCX chooses.
  std::vector<std::string> transports = {};
  std::vector<std::string> devices = {};
  /// UCX's error mode none instead of peer.
  bool mode_none = false;
  /// With a tcp:// or unix:// URL: use RDMA if the server offers it.
  bool prefer_rdma = false;
  load::RdmaFlags rdma = {};
  /// How long connecting may take.
  double seconds = 10;
  /// Every setting of UCX, not only those that differ from UCX's defaults.
  bool all = false;
  bool json = false;
};

}  // namespace weft::info
