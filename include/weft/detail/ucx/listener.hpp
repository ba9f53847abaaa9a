// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include <cstddef>
#include <memory>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/channel.hpp"
#include "weft/detail/ucx/worker.hpp"

namespace weft::ucx {

class Listener;

/// A peer's request to connect. Endpoint::accept() takes it; otherwise its destructor refuses it. Must be
/// destroyed before its listener. Thread: the listener's loop's.
class ConnectionRequest {
 public:
  ConnectionRequest() noexcept = default;
  ConnectionRequest(ConnectionRequest&& other) noexcept
      : listener_(other.listener_), handle_(std::exchange(other.handle_, nullptr)) {}
  ConnectionRequest& operator=(ConnectionRequest&& other) noexcept {
    ConnectionRequest taken{std::move(other)};
    std::swap(listener_, taken.listener_);
    std::swap(handle_, taken.handle_);
    return *this;
  }
  ~ConnectionRequest() { refuse(); }

  explicit operator bool() const noexcept { return handle_ != nullptr; }
  /// Tells the peer no: its endpoint fails. Again is no change.
  void refuse() noexcept;
  /// The peer's address. Errors: UCX's.
  Result<sockaddr_storage> peer() const;

 private:
  friend class Endpoint;
  friend class Listener;
  ConnectionRequest(ucp_listener_h listener, ucp_conn_request_h handle) noexcept
      : listener_(listener), handle_(handle) {}
  ucp_conn_request_h release() noexcept { return std::exchange(handle_, nullptr); }

  ucp_listener_h listener_ = nullptr;
  ucp_conn_request_h handle_ = nullptr;
};

struct ListenerOptions {
  /// Requests that wait to be taken; more are refused.
  std::size_t backlog = 128;
};

/// Takes connections at a socket address, over TCP or RDMA CM. Ends before its worker; no coroutine waits for
/// a request then. Thread: its worker's loop's.
class Listener {
 public:
  /// Port 0 lets the system choose, see address(). Errors: UCX's, for instance when the port is taken.
  static Result<std::unique_ptr<Listener>> create(Worker& worker, const sockaddr* address, socklen_t size,
                                                  const ListenerOptions& options = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  /// Returns where it listens. Errors: UCX's.
  Result<sockaddr_storage> address() const;
  /// Returns Result<ConnectionRequest>, the oldest. Cancel: total.
  [[nodiscard]] auto next() noexcept { return requests_.pop(); }
  /// Requests that found the backlog full and were refused.
  std::size_t refused() const noexcept { return refused_; }

 private:
  Listener(Worker& worker, const ListenerOptions& options);
  static void arrived(ucp_conn_request_h request, void* listener);

  Worker& worker_;
  ucp_listener_h handle_ = nullptr;
  std::size_t refused_ = 0;
  Channel<ConnectionRequest> requests_;
};

}  // namespace weft::ucx
