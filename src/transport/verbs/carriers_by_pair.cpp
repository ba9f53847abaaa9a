// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/carriers_by_pair.hpp"

#include "transport/verbs/verbs_carrier.hpp"

namespace weft::detail::verbs_carrier {

CarrierName CarriersByPair::join(std::uint32_t queue_pair, VerbsCarrier& carrier) {
  carriers_[queue_pair] = &carrier;
  return {queue_pair, ++serials_};
}

VerbsCarrier* CarriersByPair::find(const CarrierName& name) const noexcept {
  VerbsCarrier* const carrier = find(name.queue_pair);
  return carrier != nullptr && carrier->pair().name().serial == name.serial ? carrier : nullptr;
}

void CarriersByPair::fail_all(const Status& why) noexcept {
  for (const auto& [number, carrier] : carriers_) carrier->fail(why);
}

}  // namespace weft::detail::verbs_carrier
