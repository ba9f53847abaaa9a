// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/client/call_client.hpp"

#include <utility>

#include "calls/client/client_core.hpp"
#include "calls/terms/wrong_thread.hpp"
#include "weft/detail/runtime/client_end.hpp"

namespace weft::detail {

CallClient::CallClient(Loop& loop, ClientOptions options, Transports transports)
    : core_(new ClientCore(loop, std::move(options), std::move(transports))) {
  set_target(*core_);
}

CallClient::~CallClient() {
  check_end_of_client(loop());
}

void CallClient::CoreEnd::operator()(ClientCore* core) const noexcept {
  core->end();
}

void CallClient::register_method(const MethodEntry& entry, std::shared_ptr<void> owner) {
  check_thread(loop());
  core_->host().add(entry, std::move(owner));
}

Task<Result<void>> CallClient::connect() {
  check_thread(loop());
  return await_connection(*core_);
}

void CallClient::close() {
  check_thread(loop());
  core_->close();
}

Result<MemoryLease> CallClient::register_memory(MutableBytes memory) const {
  check_thread(loop());
  return core_->register_memory(memory);
}

bool CallClient::connected() const {
  check_thread(loop());
  return core_->ready();
}

std::string CallClient::local_endpoint() const {
  check_thread(loop());
  return core_->session() ? core_->session()->connection().local_endpoint() : std::string{};
}

std::string_view CallClient::carried_by() const {
  check_thread(loop());
  return core_->ready() ? core_->session()->connection().capabilities().name : std::string_view{};
}

CarrierReport CallClient::carrier_report() const {
  check_thread(loop());
  return core_->ready() ? core_->session()->connection().carrier_report() : CarrierReport{};
}

std::string CallClient::remote_endpoint() const {
  check_thread(loop());
  return core_->session() ? core_->session()->connection().remote_endpoint() : std::string{};
}

ClientStats CallClient::stats() const noexcept {
  check_thread(loop());
  return core_->stats();
}

}  // namespace weft::detail
