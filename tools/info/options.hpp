// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "load/options.hpp"

namespace weft::info {

/// Options of `weft info`.
struct Options {
  /// A server to connect to; empty: only what is here.
  std::string connect = {};
  load::UcxFlags ucx = {};
  load::RdmaFlags rdma = {};
  load::TlsFlags tls = {};
  /// Time that connecting may take.
  double seconds = 10;
  /// Every setting of UCX, not only those that differ from UCX's defaults.
  bool all = false;
  bool json = false;
};

}  // namespace weft::info
