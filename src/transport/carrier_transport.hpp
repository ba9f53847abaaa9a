// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "weft/detail/base/time.hpp"
#include "weft/detail/transport/carrier_provider.hpp"
#include "weft/detail/transport/transport.hpp"

namespace weft::detail {

/// Options of a transport over another one and one kind of carrier.
struct CarrierTransportOptions {
  /// URLs of it mean tcp:// with the carrier; empty: there are none.
  std::string scheme{};
  /// The other transport's scheme with whose URLs the carrier is offered; empty: with those of all of them.
  std::string base_scheme{};
  std::shared_ptr<const CarrierProvider> provider;
  /// Policy for URLs of the other transport's own schemes.
  CarrierPolicy connecting = CarrierPolicy::kForbid;
  CarrierPolicy listening = CarrierPolicy::kForbid;
  Duration bring_up_timeout{};
  /// Fault of the options: every attempt to use the transport fails with it.
  Status misuse;
};

/// A transport whose connections begin on `base` and move to the carrier as the policies say. What
/// `base` offers by itself stays offered, so that such transports can be put over one another.
std::unique_ptr<Transport> make_carrier_transport(std::unique_ptr<Transport> base,
                                                  CarrierTransportOptions options);

}  // namespace weft::detail
