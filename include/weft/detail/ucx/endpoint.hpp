// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>
#include <ucp/api/ucp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/ucx/posted.hpp"
#include "weft/detail/ucx/worker.hpp"

namespace weft::ucx {

class ConnectionRequest;

/// Behaviour of UCX towards a peer that is gone.
enum class ErrorMode : std::uint8_t {
  kNone,  ///< nothing: operations may stay under way until the worker ends. The fastest transports.
  kPeer,  ///< every operation ends, with an error if need be, and on_error is called
};

enum class CloseMode : std::uint8_t {
  kFlush,  ///< posted operations finish first, except sends by rendezvous, which must be awaited before
  kForce,  ///< at once; operations under way end as cancelled. Only in ErrorMode::kPeer.
};

struct EndpointOptions {
  ErrorMode error_mode = ErrorMode::kPeer;
  /// Called once, in a turn of the loop, when UCX finds that the peer is gone. The endpoint refuses
  /// operations by then and is still to be closed or destroyed, which the callback may do. Only in
  /// ErrorMode::kPeer.
  weft::detail::UniqueFunction<void(const Status&)> on_error{};
};

/// Target of operations: an Endpoint, or the reply endpoint of an active message. A view: valid as long as
/// that is.
struct EndpointRef {
  ucp_ep_h handle = nullptr;
  /// Null when the endpoint is closed.
  detail::OperationPool* operations = nullptr;
};

namespace detail {

struct Close {
  using Value = void;
  static constexpr std::string_view kWhat = "closing an endpoint";
  static std::string_view advice(ucs_status_t status) noexcept;
};

/// State that UCX and the Endpoint share. Ends when the Endpoint is gone and UCX has closed it, or with the
/// worker.
struct EndpointCore final : weft::detail::Ready, weft::detail::ListHook<EndpointTag> {
  EndpointCore(Worker& owner, EndpointOptions& options) noexcept;

  /// Leaves the core to the worker; the Endpoint is gone.
  void let_go() noexcept;
  /// Calls ucp_ep_close_nbx(); after it there is no handle. `operation` is notified of the end.
  ucs_status_ptr_t close(CloseMode mode, Operation& operation) noexcept;
  /// Lets `operation`, the close, tell the core when it is given back.
  void keep_until_closed(Operation& operation) noexcept;
  static void close_ended(void* core) noexcept;
  static void failed(void* core, ucp_ep_h handle, ucs_status_t status);
  /// Called before the worker is destroyed: closes by force what can be, and lets local work end. Debian's
  /// UCX ends the process when ucp_worker_destroy() finds requests of such endpoints, or a copy by CMA under
  /// way.
  static void close_all(weft::detail::IntrusiveList<EndpointCore, EndpointTag>& endpoints,
                        Worker& worker) noexcept;
  static void worker_ended(weft::detail::IntrusiveList<EndpointCore, EndpointTag>& endpoints) noexcept;

  EndpointRef endpoint;
  Worker* worker;
  ErrorMode mode;
  ucs_status_t error = UCS_OK;
  bool kept = true;
  bool closing = false;
  weft::detail::UniqueFunction<void(const Status&)> on_error;

 private:
  static void tell(weft::detail::Ready* node) noexcept;
  void close_by_force() noexcept;
  void end_if_unused() noexcept;
};

}  // namespace detail

/// A connection of a worker to another one. Movable; empty after a move.
/// Its destructor closes by force in ErrorMode::kPeer; in kNone, where UCX refuses that, the worker keeps the
/// connection until it ends: co_await close() before. Thread: its loop's. May outlive its worker.
class Endpoint {
 public:
  /// Connects to the worker with the Worker::address() `address`. Returns before the peer has answered: an
  /// absent peer is reported later, by on_error. Errors: kInvalidArgument for an invalid address,
  /// kUnavailable when no transport leads there.
  static Result<Endpoint> connect(Worker& worker, Bytes address, EndpointOptions options = {});
  /// Checks whether `address` can be a Worker::address(), without a worker. Errors: kInvalidArgument for an
  /// invalid address.
  static Status check_address(Bytes address);
  /// Connects to the Listener at `address`. Otherwise it is the same, but a flush() is awaited before
  /// anything is sent, and the peer's answer before close() (docs/pitfalls/ucx.md).
  static Result<Endpoint> connect(Worker& worker, const sockaddr* address, socklen_t size,
                                  EndpointOptions options = {});
  /// Accepts `request`, which is used up.
  static Result<Endpoint> accept(Worker& worker, ConnectionRequest request, EndpointOptions options = {});

  Endpoint() noexcept = default;
  Endpoint(Endpoint&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  Endpoint& operator=(Endpoint&& other) noexcept {
    Endpoint taken{std::move(other)};
    std::swap(core_, taken.core_);
    return *this;
  }
  ~Endpoint() {
    if (core_ != nullptr) core_->let_go();
  }

  explicit operator bool() const noexcept { return core_ != nullptr; }
  /// Null when closed, or when the worker ended.
  ucp_ep_h handle() const noexcept { return core_ != nullptr ? core_->endpoint.handle : nullptr; }
  /// Operations take this.
  operator EndpointRef() const noexcept { return core_ != nullptr ? core_->endpoint : EndpointRef{}; }
  /// Returns the failure passed to on_error; ok until then.
  Status error() const;

  /// Returns Result<void> when all operations issued before have completed at the peer. Cancel: partial.
  [[nodiscard]] detail::Posted<detail::Flush> flush() const noexcept;
  /// Returns Result<void> when UCX has torn it down; from the call on it takes no operations. Cancel:
  /// terminal, the closing goes on. Errors: kInvalidArgument for kForce in ErrorMode::kNone, where the
  /// endpoint stays open; a peer's failure during kFlush, where it is closed all the same.
  [[nodiscard]] detail::Posted<detail::Close> close(CloseMode mode = CloseMode::kFlush) noexcept;
  /// The transports that UCX chose, as UCX prints them; for people.
  std::string description() const;

 private:
  explicit Endpoint(detail::EndpointCore* core) noexcept : core_(core) {}
  static Result<Endpoint> create(Worker& worker, ucp_ep_params_t params, EndpointOptions options,
                                 const char* what);

  detail::EndpointCore* core_ = nullptr;
};

}  // namespace weft::ucx
