// SPDX-License-Identifier: Apache-2.0
#include "info/stream_carrier.hpp"

namespace weft::info {
namespace {

class StreamCarrier final : public CarrierFacts {
 public:
  CarrierNames names() const override {
    return {.kind = detail::wire::CarrierKind::kStream, .title = "the stream"};
  }
  std::string carries_text(const Probe& probe) const override {
    return names().title + " (" + probe.carrier + ")";
  }
};

}  // namespace

std::unique_ptr<CarrierFacts> stream_carrier() {
  return std::make_unique<StreamCarrier>();
}

}  // namespace weft::info
