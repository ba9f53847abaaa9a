// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "info/lanes.hpp"
#include "info/options.hpp"
#include "weft/base/result.hpp"
#include "weft/transport/data_path.hpp"

namespace weft::info {

/// Outcome of connecting to a server, up to both hellos and the data path.
struct Probe {
  std::string local;
  std::string remote;
  /// Name of the carrier: "tcp", "unix", "ucx", "verbs".
  std::string carrier;
  /// The data path that was asked for; UCX when none was.
  wire::DataPath path = wire::DataPath::kUcx;
  PathPolicy ours = PathPolicy::kForbid;
  /// Policy of the server's hello for that path; kForbid: it does not offer it.
  PathPolicy theirs = PathPolicy::kForbid;
  /// Both ends have the same address: one host, as far as addresses tell.
  bool same_host = false;
  /// By which of UCX's transports; empty when something else carries the bytes.
  std::vector<Lane> lanes;
  /// All that the data path says of itself.
  std::string description;
  /// Why the stream carries the bytes although both sides offered the path.
  std::string refusal;
  double milliseconds = 0;
};

/// Connects to `options.connect`, says hello, brings the data path up, and leaves. No call is made.
/// Errors: those of connecting; why a data path that is required cannot be had; kDeadlineExceeded.
Result<Probe> blocking_probe(const Options& options);

}  // namespace weft::info
