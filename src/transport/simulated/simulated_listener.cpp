// SPDX-License-Identifier: Apache-2.0
#include "transport/simulated/simulated_listener.hpp"

#include <string>
#include <utility>

#include "transport/simulated/simulated_carrier.hpp"
#include "weft/detail/base/assert.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::simulated {
namespace {

// The server's end of a circuit that has not been adopted yet.
class SimulatedIncoming final : public Incoming {
 public:
  SimulatedIncoming(std::shared_ptr<Circuit> circuit, const Network& network)
      : circuit_(std::move(circuit)), network_(network) {}
  ~SimulatedIncoming() override {
    if (circuit_ != nullptr) circuit_->detach(End::kServer);
  }

  Result<std::unique_ptr<BaseCarrier>> adopt(Loop& loop, ConnectionOptions&) override {
    WEFT_ASSERT(circuit_ != nullptr, "an incoming peer is adopted once");
    WEFT_ASSERT(&loop == &network_.loop(), "servers of a SimulatedNetwork are on its loop");
    return std::unique_ptr<BaseCarrier>{
        std::make_unique<SimulatedCarrier>(std::move(circuit_), End::kServer)};
  }
  std::string remote_endpoint() const override { return circuit_->url(); }

 private:
  std::shared_ptr<Circuit> circuit_;
  const Network& network_;  // the circuit's
};

}  // namespace

SimulatedListener::SimulatedListener(std::shared_ptr<Network> network, Place& place, Url url)
    : network_(std::move(network)), place_(&place), url_(std::move(url)) {
  place.listener = this;
}

void SimulatedListener::close() {
  if (place_ != nullptr) std::exchange(place_, nullptr)->listener = nullptr;
  waiting_.clear();
}

void SimulatedListener::start(UniqueFunction<void(std::unique_ptr<Incoming>)> on_incoming) {
  on_incoming_ = std::move(on_incoming);
  accept_soon();
}

void SimulatedListener::offer(std::shared_ptr<Circuit> circuit) {
  waiting_.push_back(std::make_unique<SimulatedIncoming>(std::move(circuit), *network_));
  accept_soon();
}

void SimulatedListener::accept_soon() {
  if (waiting_.empty() || !on_incoming_ || place_->host->state == Host::State::kStopped) return;
  if (!armed()) network_->loop().arm(*this, network_->now());
}

// A callback may stop the server, and this listener with it.
void SimulatedListener::on_timer() {
  if (place_ == nullptr || place_->host->state == Host::State::kStopped) return;
  auto waiting = std::exchange(waiting_, {});
  for (auto& incoming : waiting) on_incoming_(std::move(incoming));
}

}  // namespace weft::detail::simulated
