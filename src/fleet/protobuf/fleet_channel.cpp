// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/protobuf/fleet_channel.hpp"

#include <memory>
#include <utility>

#include "fleet/protobuf/fleet_running_call.hpp"

namespace weft::protobuf {

namespace {

class CallsOfFleet final : public detail::CallMaker {
 public:
  CallsOfFleet(FleetClient& fleet, const FleetCallOptions& options)
      : core_(fleet.core()),
        loop_(fleet.loop()),
        timeout_(core_->pool_options().client.call_timeout),
        options_(options) {}

  Loop& loop() const override { return loop_; }
  Duration timeout() const override { return timeout_; }
  std::shared_ptr<detail::RunningCall> make(std::shared_ptr<const weft::detail::MethodKey> method,
                                            Controller* controller, const CallOptions& options) override {
    FleetCallOptions of_call = options_;
    if (controller != nullptr) of_call.call = options;
    return std::make_shared<detail::FleetRunningCall>(core_, std::move(method), controller, of_call);
  }

 private:
  const std::shared_ptr<weft::detail::FleetCore> core_;
  Loop& loop_;
  const Duration timeout_;
  const FleetCallOptions options_;
};

}  // namespace

FleetChannel::FleetChannel(FleetClient& fleet, const FleetCallOptions& options)
    : channel_(std::make_unique<CallsOfFleet>(fleet, options)) {}

}  // namespace weft::protobuf
