// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transport/tcp/socket_address.hpp"
#include "weft/coro/executor.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::tcp {

/// Asks the system for the addresses of a name, on a thread of its own, because that blocks. Cannot be
/// cancelled: the awaiter waits for the answer, and dropping the coroutine blocks for it.
class LookUp {
 public:
  LookUp(Loop& loop, std::string host, std::uint16_t port)
      : loop_(loop), host_(std::move(host)), port_(port), shared_(std::make_shared<Shared>(Shared{this})) {}
  LookUp(const LookUp&) = delete;
  LookUp& operator=(const LookUp&) = delete;
  ~LookUp();

  bool await_ready() const noexcept { return false; }
  bool await_suspend(std::coroutine_handle<> coroutine);
  Result<std::vector<SocketAddress>> await_resume() { return std::move(found_); }

 private:
  // Read on the loop's thread only; null once the LookUp is gone.
  struct Shared {
    LookUp* waiter;
  };
  void on_found();

  Loop& loop_;
  const std::string host_;
  const std::uint16_t port_;
  Result<std::vector<SocketAddress>> found_;
  std::shared_ptr<Shared> shared_;
  std::thread thread_;
  Resumption resumption_;
};

}  // namespace weft::tcp
