// SPDX-License-Identifier: Apache-2.0
#include "transport/tcp/look_up.hpp"

#include <system_error>

namespace weft::tcp {

LookUp::~LookUp() {
  if (thread_.joinable()) thread_.join();
  shared_->waiter = nullptr;
}

bool LookUp::await_suspend(std::coroutine_handle<> coroutine) {
  resumption_.handle = coroutine;
  try {
    thread_ = std::thread([this, shared = shared_] {
      found_ = blocking_look_up(host_, port_);
      loop_.post([shared] {
        if (shared->waiter != nullptr) shared->waiter->on_found();
      });
    });
  } catch (const std::system_error& error) {
    found_ = Status{StatusCode::kResourceExhausted, Layer::kTransport,
                    "look up \"" + host_ + "\": the system gives no thread", error.code().value()};
    return false;
  }
  return true;
}

void LookUp::on_found() {
  thread_.join();
  loop_.schedule(resumption_);
}

}  // namespace weft::tcp
