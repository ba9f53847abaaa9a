// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <stop_token>
#include <utility>

#include "weft/detail/calls/threads/blocked_call.hpp"
#include "weft/detail/functions/blocking_stream.hpp"
#include "weft/detail/functions/errand_body.hpp"

namespace weft {

/// A call under way while its thread continues: `auto answer = call.wait();`, once. Destroying it before
/// wait() cancels the call, and blocks as long as the client uses memory of its options. Movable. Thread:
/// any, one at a time.
template <typename R, bool kWithAttachment = false>
class [[nodiscard("dropping a BlockingCall cancels it")]] BlockingCall {
 public:
  /// `call` is null when it could not be made, for the reason of `failure`.
  BlockingCall(detail::ErrandPtr<detail::BlockedCall> call, Status failure, std::stop_token stop) noexcept
      : call_(std::move(call)), failure_(std::move(failure)), stop_(std::move(stop)) {}
  BlockingCall(BlockingCall&&) noexcept = default;
  BlockingCall& operator=(BlockingCall&&) = delete;
  ~BlockingCall() {
    if (call_ != nullptr && !waited_) call_->abandon();
  }

  /// Ends it with kCancelled; it can still be waited for. Thread: any, while the BlockingCall exists.
  void cancel() noexcept {
    if (call_ != nullptr) call_->cancel(CancelReason::kRequested);
  }

  /// Blocks until the call has ended: Result<R>, or Result<Answer<R>>. See BlockingCalls::call.
  auto wait() {
    using Outcome = std::conditional_t<kWithAttachment, Result<Answer<R>>, Result<R>>;
    WEFT_ASSERT(!waited_ && (call_ != nullptr || !failure_.ok()), "a BlockingCall is waited for once");
    waited_ = true;
    if (call_ == nullptr) return Outcome{std::move(failure_)};
    Status failure = call_->wait(stop_);
    if (!failure.ok()) return Outcome{std::move(failure)};
    if constexpr (kWithAttachment) {
      return detail::answer_of<R>(*call_);
    } else {
      return detail::result_of<R>(*call_);
    }
  }

 private:
  /// Stays where it is until the end: cancel() may look at it while another thread waits.
  detail::ErrandPtr<detail::BlockedCall> call_;
  Status failure_;
  std::stop_token stop_;
  bool waited_ = false;
};

namespace detail {

/// Gives a class that has a door to a client, by `door()`, calls that block their thread. Any number of
/// threads may make them at the same time.
template <typename Derived>
class BlockingCalls {
 public:
  /// Calls a function and blocks this thread until it has answered: `Result<R> answer = ...call<f>(x);`
  /// Arguments are encoded before the thread blocks, and the answer is decoded on it. Options of this call
  /// come first, if there are any. Time: the earliest of its options' and ClientOptions::call_timeout; if the
  /// loop is blocked, the call ends a second later. Memory in CallOptions, such as an attachment, is used
  /// until this returns; such a call always waits for the loop. Errors: those of FunctionCaller::call;
  /// kCancelled when a stop was requested, when the client's loop was stopped or the client has ended;
  /// kFailedPrecondition on a thread that must not block (inside a turn of a loop, or on the thread that
  /// drives the client's loop), and in a child of fork.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  Result<ResultOfMethod<M>> call(Given&&... arguments) {
    return start<M>(std::forward<Given>(arguments)...).wait();
  }
  template <auto M, typename... Given>
  Result<ResultOfMethod<M>> call(const CallOptions& options, Given&&... arguments) {
    return start<M>(options, std::forward<Given>(arguments)...).wait();
  }
  /// The same with the attachment of the answer.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  Result<Answer<ResultOfMethod<M>>> call_with_attachment(Given&&... arguments) {
    return call_with_attachment<M>(CallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  Result<Answer<ResultOfMethod<M>>> call_with_attachment(const CallOptions& options, Given&&... arguments) {
    return make<M, true>(&options, std::forward<Given>(arguments)...).wait();
  }

  /// Sends a request now and gives a handle to wait for, or to drop: several are under way at once.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  BlockingCall<ResultOfMethod<M>> start(Given&&... arguments) {
    return make<M, false>(nullptr, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  BlockingCall<ResultOfMethod<M>> start(const CallOptions& options, Given&&... arguments) {
    return make<M, false>(&options, std::forward<Given>(arguments)...);
  }

  /// Opens a stream: calls a function that returns a Stream<T>, or takes a Reader<T>& or a Writer<T>&, or
  /// their blocking variants. A declaration of the function suffices. Arguments are encoded before this
  /// returns, and options come first, if there are any. Returns a BlockingStream, which also reports errors.
  /// Throws std::bad_alloc.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  BlockingStreamOf<M> open(Given&&... arguments) {
    return open<M>(CallOptions{}, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  BlockingStreamOf<M> open(const CallOptions& options, Given&&... arguments) {
    Derived& self = static_cast<Derived&>(*this);
    return open_blocking<M>(self.door(), options, self.stop(), std::forward<Given>(arguments)...);
  }

 private:
  friend Derived;
  BlockingCalls() = default;

  template <auto M, bool kWithAttachment, typename... Given>
  BlockingCall<ResultOfMethod<M>, kWithAttachment> make(const CallOptions* options, Given&&... arguments) {
    Derived& self = static_cast<Derived&>(*this);
    Status failure = BlockedCall::check_thread(*self.door());
    ErrandPtr<BlockedCall> call;
    if (failure.ok()) {
      CallErrand::Request request{.door = self.door(), .method = &method_key<M>};
      if (options != nullptr) request.options = *options;
      request.has_options = options != nullptr;
      request.returns_attachment = kWithAttachment;
      call = make_errand<M, BlockedCall>(std::move(request), failure, std::forward<Given>(arguments)...);
    }
    if (call != nullptr) call->send();
    return {std::move(call), std::move(failure), self.stop()};
  }
};

}  // namespace detail

/// The way to a client from threads without a loop: what `weft::blocking(client)` gives. May be copied, kept
/// and used by any thread, also when the client has ended: calls fail with kCancelled then.
class BlockingCaller : public detail::BlockingCalls<BlockingCaller> {
 public:
  BlockingCaller(std::shared_ptr<detail::CallDoor> door, std::stop_token stop) noexcept
      : door_(std::move(door)), stop_(std::move(stop)) {}

  /// The seam for BlockingCalls.
  const std::shared_ptr<detail::CallDoor>& door() const noexcept { return door_; }
  const std::stop_token& stop() const noexcept { return stop_; }

 private:
  std::shared_ptr<detail::CallDoor> door_;
  std::stop_token stop_;
};

/// Returns access to a client on another thread's loop, for a thread that blocks until it has the answer:
/// `auto answer = weft::blocking(client).call<f>(x);`. `client` is any object that calls functions, such as a
/// Client; it must exist during this call only. A stop request on `stop` ends the calls with kCancelled.
/// Thread: any.
template <detail::HasDoor Client>
BlockingCaller blocking(Client& client, std::stop_token stop = {}) {
  return {detail::door_of(client), std::move(stop)};
}

}  // namespace weft
