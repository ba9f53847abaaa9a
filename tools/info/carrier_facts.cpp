// SPDX-License-Identifier: Apache-2.0
#include "info/carrier_facts.hpp"

#include <algorithm>

namespace weft::info {
namespace {

template <typename Is>
const CarrierFacts& first_that(const Carriers& carriers, const CarrierFacts& otherwise, Is is) {
  const auto found =
      std::find_if(carriers.begin(), carriers.end(), [&](const auto& each) { return is(*each); });
  return found == carriers.end() ? otherwise : **found;
}

}  // namespace

std::string CarrierFacts::carries_text(const Probe&) const {
  return names().title + "; the stream stays beside it and tells when the server is gone";
}

const CarrierFacts& asked_carrier(const Carriers& carriers, const Options& options) {
  return first_that(carriers, *carriers.back(),
                    [&](const CarrierFacts& carrier) { return carrier.asked_for(options); });
}

const CarrierFacts& carrier_of(const Carriers& carriers, detail::wire::CarrierKind kind) {
  return first_that(carriers, *carriers.front(),
                    [&](const CarrierFacts& carrier) { return carrier.names().kind == kind; });
}

const CarrierFacts& carrying(const Carriers& carriers, const Probe& probe) {
  return first_that(carriers, *carriers.front(), [&](const CarrierFacts& carrier) {
    return to_string(carrier.names().kind) == probe.carrier;
  });
}

bool is_failure(const Status& status, bool asked) {
  return !status.ok() && (asked || status.code() != StatusCode::kUnimplemented);
}

}  // namespace weft::info
