// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <google/protobuf/service.h>

#include <memory>

#include "weft/detail/calls/client/call_client.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/protobuf/controller.hpp"
#include "weft/detail/protobuf/running_call.hpp"

namespace weft::protobuf {

/// Channel for protobuf's own stubs (cc_generic_services) over a client or a pool: any number of calls at
/// once, from any thread. For many servers see FleetChannel.
///
/// With a `done` a call returns at once, and `done` is run on the client's loop; response and controller stay
/// until then, the request until CallMethod() has returned. Without one (null) the thread blocks until the
/// call has ended, which requires that another thread runs the loop: on the loop's own the call fails. When
/// the channel ends, or the loop before it has begun the call, the thread continues with kCancelled. In a
/// coroutine, see Finished. The controller is a weft::protobuf::Controller, or null, and then failures are
/// not reported.
class Channel final : public google::protobuf::RpcChannel {
 public:
  /// `client` outlives the channel, and its loop the calls.
  explicit Channel(Caller& client);
  /// The seam for layers above this one. What `maker` calls outlives the channel.
  explicit Channel(std::unique_ptr<detail::CallMaker> maker);
  /// Calls that were not begun yet, and calls with a waiting thread, fail with kCancelled; others under way
  /// go on. Thread: the one of the client's loop.
  ~Channel() override;

  void CallMethod(const google::protobuf::MethodDescriptor* method,
                  google::protobuf::RpcController* controller, const google::protobuf::Message* request,
                  google::protobuf::Message* response, google::protobuf::Closure* done) override;

 private:
  class Methods;

  std::unique_ptr<detail::CallMaker> maker_;
  std::shared_ptr<Methods> methods_;
};

/// A `done` that is awaited, on the client's loop, once:
///
///     Finished finished{controller};
///     stub.Echo(&controller, &request, &response, &finished);
///     const Result<void> outcome = co_await finished;
///
/// It is declared after controller and messages: when it goes before the call has ended, it ends the call
/// without waiting. A cancelled scope cancels the call, and the scope's deadline is the call's.
class [[nodiscard]] Finished final : public google::protobuf::Closure, private CancelListener {
 public:
  explicit Finished(Controller& controller) : controller_(controller) {}
  ~Finished() override;
  Finished(const Finished&) = delete;
  Finished& operator=(const Finished&) = delete;

  void Run() override;

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    if (done_) return weft::detail::gives_way(resumption_, coroutine);
    resumption_.handle = coroutine;
    if (CancelScope* scope = weft::detail::cancel_scope_of(coroutine)) attend(*scope);
    return true;
  }
  Result<void> await_resume() const;

 private:
  void attend(CancelScope& scope);
  void on_cancel(CancelReason reason) noexcept override;

  Controller& controller_;
  weft::detail::Resumption resumption_;
  bool done_ = false;
};

}  // namespace weft::protobuf
