// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>
#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/fleet/far_call.hpp"
#include "weft/detail/fleet/fleet_calls.hpp"
#include "weft/detail/fleet/fleet_client.hpp"
#include "weft/detail/runtime/returning_task.hpp"
#include "weft/detail/runtime/told_task.hpp"

namespace weft {

namespace detail {

/// The part of a FleetCallOnLoop that knows no types.
class FarCaller {
 public:
  FarCaller(std::shared_ptr<Mailbox> mailbox, FarCall call, Status failure) noexcept
      : mailbox_(std::move(mailbox)), call_(std::move(call)), failure_(std::move(failure)) {}

 protected:
  /// Makes the call carry what its coroutine does. False: it is not to be made, and says why.
  bool prepare(const CancelScope* scope);
  /// Ends the call before it is made.
  void refuse(Status failure) noexcept;

  std::shared_ptr<Mailbox> mailbox_;
  FarCall call_;
  Status failure_;
};

/// A fleet's call that a coroutine of another loop awaits, once. Owns its encoded arguments, so that it may
/// be kept and moved before, and dropped at any moment. What its options name stays until it has ended;
/// dropping it then blocks until the fleet's loop has given that back.
template <typename Outcome, typename Wish>
class [[nodiscard("a call is made when it is awaited")]] FleetCallOnLoop : FarCaller {
  using Record = ToldTaskOf<Outcome, BeginFarCall<Outcome, Wish>, FarCall, Wish>;

 public:
  FleetCallOnLoop(FarCaller caller, BeginFarCall<Outcome, Wish> begins, Wish wish) noexcept
      : FarCaller(std::move(caller)), begins_(begins), wish_(wish) {}
  /// Moves only before it is awaited.
  FleetCallOnLoop(FleetCallOnLoop&& other) noexcept
      : FarCaller(std::move(static_cast<FarCaller&>(other))), begins_(other.begins_), wish_(other.wish_) {}
  FleetCallOnLoop& operator=(FleetCallOnLoop&&) = delete;
  ~FleetCallOnLoop() = default;

  bool await_ready() const noexcept { return false; }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    CancelScope* scope = cancel_scope_of(coroutine);
    try {
      if (!failure_.ok() || !prepare(scope)) return gives_way(resumption_, coroutine);
      const bool borrows = names_memory(call_.options);
      task_.reset(new Record{mailbox_, begins_, std::move(call_), wish_});
      waiting_.begin(*task_, borrows, scope, coroutine);
    } catch (const std::bad_alloc&) {
      refuse(Status::of<kOutOfMemory>());
      return gives_way(resumption_, coroutine);
    }
    return true;
  }
  Outcome await_resume() {
    if (!failure_.ok()) return std::move(failure_);
    Status failure = failure_of_far_call(waiting_.take_failure(), waiting_.lost_its_loop());
    if (!failure.ok()) return failure;
    return task_->take();
  }

 protected:
  /// Moves the caller out. The call must not have been awaited yet.
  FarCaller give_away() noexcept { return std::move(static_cast<FarCaller&>(*this)); }

 private:
  BeginFarCall<Outcome, Wish> begins_;
  Wish wish_;
  std::unique_ptr<Record, ToldTask::Release> task_;
  ReturningTask waiting_;
  Resumption resumption_;
};

/// The same for a call of one of the servers.
template <auto M>
class [[nodiscard("a call is made when it is awaited")]] OneCallOnLoop final
    : public FleetCallOnLoop<Result<ResultOfMethod<M>>, bool> {
  using Base = FleetCallOnLoop<Result<ResultOfMethod<M>>, bool>;

 public:
  explicit OneCallOnLoop(FarCaller caller) noexcept : Base(std::move(caller), &far_value<M>, false) {}

  /// Gives the attachment of the answer too: Result<Answer<R>>. The call must not have been awaited yet.
  FleetCallOnLoop<Result<Answer<ResultOfMethod<M>>>, bool> with_attachment() && {
    return {this->give_away(), &far_answer<M>, true};
  }
};

}  // namespace detail

/// Access to a fleet of another loop; returned by `weft::on_loop_of(fleet)`. May be copied, kept and used by
/// any thread, also after the fleet has ended: calls fail with kCancelled then.
///
/// call() and the other calls are those of detail::FleetCalls, and each returns an awaitable for one await:
/// `auto answer = co_await weft::on_loop_of(fleet).call<f>(x);`, or behind that `.with_attachment()`.
/// Arguments are encoded here; the answer is decoded on the fleet's loop. The deadline and the metadata that
/// the coroutine carries are passed on, and its cancel reaches the call. Further errors: kCancelled when the
/// fleet's loop was stopped or the fleet has ended; kFailedPrecondition in a child of fork, and for a fleet
/// of this very loop with options that name memory.
class LoopFleet : public detail::FleetCalls<LoopFleet> {
 public:
  explicit LoopFleet(const FleetClient& fleet) : core_(fleet.core()), mailbox_(fleet.loop().mailbox()) {}

 private:
  friend detail::FleetCalls<LoopFleet>;

  template <auto M, typename... Given>
  detail::OneCallOnLoop<M> make_call(const FleetCallOptions& options, Given&&... arguments) const {
    return detail::OneCallOnLoop<M>{caller<M>(options, std::forward<Given>(arguments)...)};
  }
  template <auto M, typename... Given>
  auto make_call_all(const FleetCallOptions& options, Given&&... arguments) const {
    return make(caller<M>(options, std::forward<Given>(arguments)...), &detail::far_call_all<M>,
                detail::kAllServers);
  }
  template <auto M, typename... Given>
  auto make_call_quorum(std::size_t wanted, const FleetCallOptions& options, Given&&... arguments) const {
    return make(caller<M>(options, std::forward<Given>(arguments)...), &detail::far_call_quorum<M>, wanted);
  }
  /// The type of a call that does not compile.
  template <typename T>
  static Task<T> never();

  template <typename Outcome>
  static detail::FleetCallOnLoop<Outcome, std::size_t> make(detail::FarCaller caller,
                                                            detail::BeginFarCall<Outcome, std::size_t> begins,
                                                            std::size_t wanted) {
    return {std::move(caller), begins, wanted};
  }
  template <auto M, typename... Given>
  detail::FarCaller caller(const FleetCallOptions& options, Given&&... arguments) const {
    Status failure;
    auto encoded = detail::EncodedArguments::of<M>(failure, std::forward<Given>(arguments)...);
    detail::FarCall call{core_, options, std::move(encoded)};
    return {mailbox_, std::move(call), std::move(failure)};
  }

  std::weak_ptr<detail::FleetCore> core_;
  std::shared_ptr<detail::Mailbox> mailbox_;
};

/// Calls functions of a fleet that belongs to another loop; the fleet must exist during this call only.
/// Thread: any; the result is awaited inside a turn of a loop.
inline LoopFleet on_loop_of(FleetClient& fleet) {
  return LoopFleet{fleet};
}

}  // namespace weft
