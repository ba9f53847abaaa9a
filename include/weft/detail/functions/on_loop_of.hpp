// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/threads/returning_call.hpp"
#include "weft/detail/coro/awaited_first.hpp"
#include "weft/detail/functions/errand_body.hpp"
#include "weft/detail/functions/named_first.hpp"

namespace weft {

namespace detail {

/// A call on another loop, to be awaited once, in a coroutine of any loop, which goes on where it was. It
/// owns its encoded arguments, so that it may be kept and moved, and dropped at any moment. What its
/// CallOptions name stays until it has ended; dropping it then blocks until the client's loop has given that
/// back, and cancelling it first does not.
template <typename R, bool kWithAttachment = false>
class [[nodiscard("a call is made when it is awaited")]] CallOnLoop final
    : public ReturningAwaiter,
      public AwaitedBefore<std::conditional_t<kWithAttachment, Result<Answer<R>>, Result<R>>> {
 public:
  using ReturningAwaiter::ReturningAwaiter;

  /// Gives the attachment of the answer too: Result<Answer<R>>. The call must not have been awaited yet.
  auto with_attachment() &&
      requires(!kWithAttachment) {
        if (call() != nullptr) call()->return_attachment();
        return CallOnLoop<R, true>{std::move(*this)};
      }

      auto await_resume() {
    using Outcome = std::conditional_t<kWithAttachment, Result<Answer<R>>, Result<R>>;
    Status failure = take_failure();
    if (!failure.ok()) return Outcome{std::move(failure)};
    if constexpr (kWithAttachment) {
      return answer_of<R>(*call());
    } else {
      return result_of<R>(*call());
    }
  }

 private:
  friend class CallOnLoop<R, false>;
  explicit CallOnLoop(ReturningAwaiter&& other) noexcept : ReturningAwaiter(std::move(other)) {}
};

}  // namespace detail

/// The way to a client of another loop: what `weft::on_loop_of(client)` gives. May be copied, kept and used
/// by any thread, also when the client has ended: calls fail with kCancelled then.
class LoopCaller {
 public:
  explicit LoopCaller(std::shared_ptr<detail::CallDoor> door) noexcept : door_(std::move(door)) {}

  /// Calls a function: `Result<R> answer = co_await weft::on_loop_of(client).call<f>(x);`. Arguments are
  /// encoded here, and the answer is decoded when the coroutine goes on. The call inherits the deadline and
  /// the metadata of the coroutine, and its cancellation. Options of this call come first, if there are any.
  /// Errors: those of FunctionCaller::call; kCancelled also when the client's loop was stopped or the client
  /// has ended; kFailedPrecondition in a child of fork.
  template <auto M, typename... Given>
    requires detail::WithoutOptions<Given...>
  detail::CallOnLoop<detail::ResultOfMethod<M>> call(Given&&... arguments) const {
    return make<M>(nullptr, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  detail::CallOnLoop<detail::ResultOfMethod<M>> call(const CallOptions& options, Given&&... arguments) const {
    return make<M>(&options, std::forward<Given>(arguments)...);
  }

 private:
  template <auto M, typename... Given>
  detail::CallOnLoop<detail::ResultOfMethod<M>> make(const CallOptions* options, Given&&... arguments) const {
    detail::refuse_what_dies_twice<Given...>();
    detail::CallErrand::Request request{.door = door_, .method = &detail::method_key<M>};
    if (options != nullptr) request.options = *options;
    request.has_options = options != nullptr;
    Status failure;
    auto call = detail::make_errand<M, detail::ReturningCall>(std::move(request), failure,
                                                              std::forward<Given>(arguments)...);
    return {std::move(call), std::move(failure)};
  }

  std::shared_ptr<detail::CallDoor> door_;
};

/// Calls functions of a client that belongs to another loop. `client` is any object that calls functions,
/// such as a Client; it must exist during this call only. Thread: any; the result is awaited inside a turn of
/// a loop.
template <detail::HasDoor Client>
LoopCaller on_loop_of(Client& client) {
  return LoopCaller{detail::door_of(client)};
}

}  // namespace weft
