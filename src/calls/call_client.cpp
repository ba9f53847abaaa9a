// SPDX-License-Identifier: Apache-2.0
#include "weft/calls/call_client.hpp"

#include "calls/client_core.hpp"
#include "calls/wrong_thread.hpp"

namespace weft {

namespace {

/// Awaits the client's connection.
class ConnectionAwaiter : CancelListener {
 public:
  explicit ConnectionAwaiter(detail::ClientCore& core) : core_(core) {}

  bool await_ready() const noexcept { return core_.ready(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    if (CancelScope* scope = cancel_scope_of(coroutine)) {
      if (scope->cancelled()) {
        waiter_.outcome = to_status(scope->reason());
        return false;
      }
      scope->add(*this);
    }
    waiter_.resumption.handle = coroutine;
    core_.add_connect_waiter(waiter_);
    return true;
  }
  Result<void> await_resume() { return std::move(waiter_.outcome); }

 private:
  void on_cancel(CancelReason reason) noexcept override {
    if (!waiter_.linked()) return;
    waiter_.unlink();
    waiter_.outcome = to_status(reason);
    core_.loop().schedule(waiter_.resumption);
  }

  detail::ClientCore& core_;
  detail::ConnectWaiter waiter_;
};

Task<Result<void>> await_connection(detail::ClientCore& core) {
  ConnectionAwaiter awaiter{core};
  Result<void> outcome = co_await awaiter;
  co_return outcome;
}

}  // namespace

CallClient::CallClient(Loop& loop, ClientOptions options, Transports transports)
    : core_(std::make_unique<detail::ClientCore>(loop, std::move(options), std::move(transports))),
      target_(core_.get()) {}

CallClient::~CallClient() {
  detail::check_thread(loop());
}

Task<Result<void>> CallClient::connect() {
  detail::check_thread(loop());
  return await_connection(*core_);
}

void CallClient::close() {
  detail::check_thread(loop());
  core_->close();
}

Result<MemoryLease> CallClient::register_memory(MutableBytes memory) const {
  return core_->register_memory(memory);
}

bool CallClient::connected() const {
  detail::check_thread(loop());
  return core_->ready();
}

std::string CallClient::local_endpoint() const {
  detail::check_thread(loop());
  return core_->session() ? core_->session()->connection().local_endpoint() : std::string{};
}

std::string_view CallClient::carried_by() const {
  detail::check_thread(loop());
  return core_->ready() ? core_->session()->connection().capabilities().name : std::string_view{};
}

CarrierReport CallClient::carrier_report() const {
  detail::check_thread(loop());
  return core_->ready() ? core_->session()->connection().carrier_report() : CarrierReport{};
}

std::string CallClient::remote_endpoint() const {
  detail::check_thread(loop());
  return core_->session() ? core_->session()->connection().remote_endpoint() : std::string{};
}

ClientStats CallClient::stats() const noexcept {
  detail::check_thread(loop());
  return core_->stats();
}

Loop& CallClient::loop() const {
  return core_->loop();
}

}  // namespace weft
