// SPDX-License-Identifier: Apache-2.0
#include "transport/simulated/simulated_carrier.hpp"

namespace weft::detail::simulated {

const Capabilities& SimulatedCarrier::capabilities() const {
  static constexpr Capabilities kNetwork{.name = "simulated",
                                         .lease_bytes_min = 16 * 1024,
                                         .peer_may_vanish = true,
                                         .gathers = true,
                                         .lends_runs = true};
  return kNetwork;
}

}  // namespace weft::detail::simulated
