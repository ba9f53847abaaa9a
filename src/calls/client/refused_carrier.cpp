// SPDX-License-Identifier: Apache-2.0
#include "calls/client/refused_carrier.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <string_view>
#include <vector>

namespace weft::detail {

namespace {
constexpr Duration kInterval = std::chrono::seconds{1};
}  // namespace

void RefusedCarrier::tell(const Connection& connection, Logger& logger, TimePoint now) {
  if (now < quiet_until_) return;
  try {
    const std::vector<wire::CarrierOffer> offers = connection.carrier_offers();
    const std::string_view carrier = connection.capabilities().name;
    const auto carries = [&](const wire::CarrierOffer& offer) { return to_string(offer.kind) == carrier; };
    if (offers.empty() || std::any_of(offers.begin(), offers.end(), carries)) return;
    const std::string refusal = connection.carrier_report().reason;
    if (refusal.empty()) return;
    quiet_until_ = now + kInterval;
    write_line(logger, LogLevel::kWarning, [&] {
      return "the connection to " + connection.remote_endpoint() + " goes by " + std::string{carrier} +
             " although both sides offer another carrier: " + refusal;
    });
  } catch (const std::bad_alloc&) {
    // carrier_report() still returns the text on request.
  }
}

}  // namespace weft::detail
