// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "weft/detail/calls/terms/answer.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/calls/threads/told_call.hpp"
#include "weft/detail/coro/owned_argument.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/functions/call.hpp"
#include "weft/detail/functions/errand_body.hpp"
#include "weft/detail/functions/method.hpp"
#include "weft/detail/functions/named_first.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/told_task.hpp"

/// Work that an adapter to another executor awaits: a call of a client, or a coroutine of a loop. Both have
///
///     bool made()            false: nothing can be sent, and take() returns the reason
///     void send(Told&)       once; notifies `told`, unless the work was given up
///     bool give_up(reason)   true: no notification follows
///     Given take()           the outcome, after the notification, or if made() is false
///
/// Movable until it is sent.
namespace weft::detail {

/// Result<R>, or R itself where that is a Result.
template <typename R>
using GivenBy = std::conditional_t<is_result<R>, R, Result<R>>;

template <typename R>
class RemoteCall {
 public:
  using Given = Result<R>;
  static constexpr bool kMayThrow = false;

  RemoteCall(ErrandPtr<ToldCall> call, Status failure) noexcept
      : call_(std::move(call)), failure_(std::move(failure)) {}

  bool made() const noexcept { return call_ != nullptr; }
  bool borrows() const noexcept { return made() && call_->borrows(); }
  bool is_waited_for_in_vain() const noexcept { return made() && call_->is_waited_for_in_vain(); }
  void send(Told& told) noexcept { call_->send_for(told); }
  bool give_up(CancelReason reason) noexcept { return call_->give_up(reason); }
  Given take() noexcept {
    Status failure = call_ != nullptr ? call_->take_failure() : std::move(failure_);
    if (!failure.ok()) return failure;
    return result_of<R>(*call_);
  }

 private:
  ErrandPtr<ToldCall> call_;
  Status failure_;
};

template <typename T>
class RemoteTask {
 public:
  using Given = GivenBy<T>;
  static constexpr bool kMayThrow = true;

  /// Null: there was no memory.
  explicit RemoteTask(ToldTaskGiving<T>* task) noexcept : task_(task) {}

  bool made() const noexcept { return task_ != nullptr; }
  static constexpr bool borrows() noexcept { return false; }
  static constexpr bool is_waited_for_in_vain() noexcept { return false; }
  void send(Told& told) noexcept { task_->send_for(told); }
  bool give_up(CancelReason reason) noexcept { return task_->give_up(reason); }
  /// Throws what the coroutine threw.
  Given take() {
    if (task_ == nullptr) return Status::of<kOutOfMemory>();
    Status failure = task_->take_failure();
    if (!failure.ok()) return failure;
    if constexpr (std::is_void_v<T>) {
      task_->take();
      return {};
    } else {
      return task_->take();
    }
  }

 private:
  std::unique_ptr<ToldTaskGiving<T>, ToldTask::Release> task_;
};

/// Makes a call through `door` with its arguments encoded, or what says why that failed.
template <auto M, typename... Given>
RemoteCall<ResultOfMethod<M>> make_remote_call(const std::shared_ptr<CallDoor>& door,
                                               const CallOptions* options, Given&&... arguments) noexcept {
  refuse_what_dies_twice<Given...>();
  CallErrand::Request request{.door = door, .method = &method_key<M>};
  if (options != nullptr) request.options = *options;
  request.has_options = options != nullptr;
  Status failure;
  auto call = make_errand<M, ToldCall>(std::move(request), failure, std::forward<Given>(arguments)...);
  return {std::move(call), std::move(failure)};
}

/// Makes the work of running `function(args...)`, a coroutine, on the loop of `mailbox`.
template <typename Function, typename... Args>
auto make_remote_task(const std::shared_ptr<Mailbox>& mailbox, Function&& function, Args&&... args) {
  using F = std::decay_t<Function>;
  static_assert(
      StatelessFunction<F>,
      "a function that runs on a loop has no captures: pass what it needs as arguments, which go with it");
  static_assert((OwnedArgument<std::decay_t<Args>> && ...),
                "a coroutine of a loop owns its arguments: pass a string or a vector instead of a view, a "
                "value, or a pointer to what outlives it, instead of a reference");
  using Made = std::invoke_result_t<F&, std::decay_t<Args>...>;
  static_assert(is_task<Made>, "a function that runs on a loop is a coroutine: it returns a weft::Task");
  using T = typename Made::value_type;
  ToldTaskGiving<T>* task = nullptr;
  try {
    task = new ToldTaskOf<T, F, std::decay_t<Args>...>(mailbox, std::forward<Function>(function),
                                                       std::forward<Args>(args)...);
  } catch (const std::bad_alloc&) {
    // The outcome says so.
  }
  return RemoteTask<T>{task};
}

/// Access to a client for another executor; `Begun` is the type of started work there. May be copied, kept
/// and used by any thread, also after the client has ended: calls fail with kCancelled then.
template <template <typename> class Begun>
class RemoteCaller {
 public:
  explicit RemoteCaller(std::shared_ptr<CallDoor> door) noexcept : door_(std::move(door)) {}

  /// Returns a call of a function. Arguments are encoded here, and the answer is decoded on the executor that
  /// is notified. Options of this call come first, if there are any; memory named by them must live until the
  /// end. Errors: see FunctionCaller::call; kCancelled also when the client's loop was stopped or the client
  /// has ended; kFailedPrecondition in a child of fork.
  template <auto M, typename... Given>
    requires WithoutOptions<Given...>
  Begun<RemoteCall<ResultOfMethod<M>>> call(Given&&... arguments) const {
    return Begun{make_remote_call<M>(door_, nullptr, std::forward<Given>(arguments)...)};
  }
  template <auto M, typename... Given>
  Begun<RemoteCall<ResultOfMethod<M>>> call(const CallOptions& options, Given&&... arguments) const {
    return Begun{make_remote_call<M>(door_, &options, std::forward<Given>(arguments)...)};
  }

 private:
  std::shared_ptr<CallDoor> door_;
};

/// The way to a loop for another executor. May be copied, kept and used by any thread, also when the loop has
/// ended.
template <template <typename> class Begun>
class RemoteRunner {
 public:
  explicit RemoteRunner(std::shared_ptr<Mailbox> mailbox) noexcept : mailbox_(std::move(mailbox)) {}

  /// Returns the coroutine `function(args...)`, which runs on the loop: a call of a fleet, or any other
  /// coroutine. It owns copies of `args`, and `function` has no captures. Errors: the failure that the
  /// coroutine returns; kCancelled when the loop was stopped, which drops the coroutine.
  template <typename Function, typename... Args>
  auto run(Function&& function, Args&&... args) const {
    return Begun{make_remote_task(mailbox_, std::forward<Function>(function), std::forward<Args>(args)...)};
  }

 private:
  std::shared_ptr<Mailbox> mailbox_;
};

}  // namespace weft::detail
