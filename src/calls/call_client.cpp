// SPDX-License-Identifier: Apache-2.0
#include "weft/calls/call_client.hpp"

#include "calls/client_core.hpp"

namespace weft {

CallClient::CallClient(Loop& loop, ClientOptions options, Transports transports)
    : core_(std::make_unique<detail::ClientCore>(loop, std::move(options), std::move(transports))) {
  set_target(*core_);
}

CallClient::~CallClient() = default;

Task<Result<void>> CallClient::connect() {
  detail::ConnectionAwaiter<detail::ClientCore> awaiter{*core_};
  Result<void> outcome = co_await awaiter;
  co_return outcome;
}

void CallClient::close() {
  core_->close();
}

Result<MemoryLease> CallClient::register_memory(MutableBytes memory) const {
  return core_->register_memory(memory);
}

bool CallClient::connected() const {
  return core_->ready();
}

std::string CallClient::local_endpoint() const {
  return core_->session() ? core_->session()->connection().local_endpoint() : std::string{};
}

std::string_view CallClient::carried_by() const {
  return core_->ready() ? core_->session()->connection().capabilities().name : std::string_view{};
}

CarrierReport CallClient::carrier_report() const {
  return core_->ready() ? core_->session()->connection().carrier_report() : CarrierReport{};
}

std::string CallClient::remote_endpoint() const {
  return core_->session() ? core_->session()->connection().remote_endpoint() : std::string{};
}

ClientStats CallClient::stats() const noexcept {
  return core_->stats();
}

}  // namespace weft
