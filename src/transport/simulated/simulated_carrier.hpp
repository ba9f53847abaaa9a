// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "transport/simulated/circuit.hpp"
#include "weft/detail/transport/base_carrier.hpp"

namespace weft::detail::simulated {

/// One end of a Circuit, for its Connection.
class SimulatedCarrier final : public BaseCarrier {
 public:
  SimulatedCarrier(std::shared_ptr<Circuit> circuit, End end) : circuit_(std::move(circuit)), end_(end) {
    circuit_->attach(end_, *this);
  }
  ~SimulatedCarrier() override { SimulatedCarrier::shut(); }

  const Capabilities& capabilities() const override;
  std::string local_endpoint() const override { return circuit_->url(); }
  std::string remote_endpoint() const override { return circuit_->url(); }

  Moved receive(std::span<const iovec> into, std::span<const iovec>) override {
    return circuit_->receive(end_, into);
  }
  TimePoint arrived_by(TimePoint now) const override { return circuit_->arrived_by(end_, now); }
  Moved send(std::span<const iovec> from, std::size_t) override { return circuit_->send(end_, from); }
  void end_sending() override { circuit_->end_sending(end_); }
  void shut() override {
    if (!std::exchange(shut_, true)) circuit_->detach(end_);
  }

  void tell_readable() { owner().on_readable(); }
  void tell_writable() { owner().on_writable(); }

 private:
  const std::shared_ptr<Circuit> circuit_;
  const End end_;
  bool shut_ = false;
};

}  // namespace weft::detail::simulated
