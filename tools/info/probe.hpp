// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "info/options.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/transport/carrier_provider.hpp"

namespace weft::info {

/// Outcome of connecting to a server, up to both hellos and the carrier.
struct Probe {
  std::string local;
  std::string remote;
  /// Name of the carrier, as in Capabilities::name; of the base carrier it is "tcp" or "unix".
  std::string carrier;
  /// The carrier that was asked for, see asked_carrier().
  detail::wire::CarrierKind asked = detail::wire::CarrierKind::kStream;
  CarrierPolicy ours = CarrierPolicy::kForbid;
  /// Policy of the server's hello for that carrier; kForbid: it does not offer it.
  CarrierPolicy theirs = CarrierPolicy::kForbid;
  /// Both ends have the same address: one host, as far as addresses tell.
  bool same_host = false;
  /// All that the carrier says of itself; empty when the base carrier carries the bytes.
  std::string description;
  /// Reason for which the base carrier carries the bytes although both sides offered the carrier.
  std::string refusal;
  /// The carriers that this side offers and that do not carry the bytes, with the reasons.
  std::vector<PassedOverCarrier> passed_over;
  double milliseconds = 0;
};

/// Connects to `options.connect`, says hello, brings the carrier up, and leaves. No call is made.
/// Errors: those of connecting; why a carrier that is required cannot be had; kDeadlineExceeded.
Result<Probe> blocking_probe(const Options& options);

}  // namespace weft::info
