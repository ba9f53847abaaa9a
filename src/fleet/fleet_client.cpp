// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_client.hpp"

#include <utility>

#include "weft/detail/runtime/client_end.hpp"
#include "weft/detail/runtime/mailbox.hpp"

namespace weft {

FleetClient::FleetClient(Loop& loop, FleetOptions options, TransportOptions transports)
    : FleetClient(loop, std::move(options), make_transports(std::move(transports))) {}

FleetClient::FleetClient(Loop& loop, FleetOptions options, Transports transports)
    : core_(std::make_shared<detail::FleetCore>(loop, std::move(options), std::move(transports))) {
  // Another thread may run the loop already.
  loop.post([its = std::weak_ptr{core_}] {
    if (const std::shared_ptr<detail::FleetCore> core = its.lock()) core->begin();
  });
  loop.mailbox()->use().add_resident();
}

FleetClient::~FleetClient() {
  detail::check_end_of_client(loop());
  core_->close();
  loop().mailbox()->use().remove_resident();
}

void FleetClient::register_method(const detail::MethodEntry& entry, std::shared_ptr<void> owner) {
  core_->check_thread();
  core_->list().serve(entry, std::move(owner));
}

void FleetClient::close() {
  core_->check_thread();
  core_->close();
}

Loop& FleetClient::loop() const {
  return core_->loop();
}

FleetStats FleetClient::stats() const noexcept {
  core_->check_thread();
  return core_->stats();
}

std::vector<FleetEndpointStats> FleetClient::endpoint_stats() const {
  core_->check_thread();
  return core_->endpoint_stats();
}

}  // namespace weft
