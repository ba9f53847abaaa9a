// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "weft/detail/base/status.hpp"
#include "weft/detail/wire/hello.hpp"

namespace weft {

/// A carrier that this side offers and that does not carry the connection's bytes. For people.
struct PassedOverCarrier {
  detail::wire::CarrierKind kind{};
  std::string reason;
  /// kResourceExhausted when this side had no memory or no descriptors for it, and it may come up next time;
  /// else kFailedPrecondition. The peer says its own reason in words only, which leave kFailedPrecondition.
  StatusCode code = StatusCode::kFailedPrecondition;
};

/// The path of the bytes of a connection, in addition to its Capabilities. For people.
struct CarrierReport {
  /// Carrier::description() of the carrier that carries them; empty when the base carrier does.
  std::string description{};
  /// The reason that they stay with the base carrier although both sides offered another carrier, or that
  /// this base carrier lets none be offered; else empty. When several were tried, those of all.
  std::string reason{};
  /// The carriers that this side offers and that were tried in vain, or that the peer does not offer.
  std::vector<PassedOverCarrier> passed_over{};
};

}  // namespace weft
