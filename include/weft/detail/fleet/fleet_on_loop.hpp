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
class [[nodiscard("a call is made when it is awaited")]] FleetCallOnLoop final : FarCaller {
  using Record = ToldTaskOf<Outcome, BeginFarCall<Outcome, Wish>, FarCall, Wish>;

 public:
  FleetCallOnLoop(FarCaller caller, BeginFarCall<Outcome, Wish> begins, Wish wish) noexcept
      : FarCaller(std::move(caller)), begins_(begins), wish_(wish) {}
  /// Moves only before it is awaited.
  FleetCallOnLoop(FleetCallOnLoop&& other) noexcept
      : FarCaller(std::move(static_cast<FarCaller&>(other))), begins_(other.begins_), wish_(other.wish_) {}
  FleetCallOnLoop& operator=(FleetCallOnLoop&&) = delete;
  ~FleetCallOnLoop() = default;

  bool await_ready() const noexcept { return !failure_.ok(); }
  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) {
    CancelScope* scope = cancel_scope_of(coroutine);
    try {
      if (!prepare(scope)) return false;
      const bool borrows = names_memory(call_.options);
      task_.reset(new Record{mailbox_, begins_, std::move(call_), wish_});
      waiting_.begin(*task_, borrows, scope, coroutine);
    } catch (const std::bad_alloc&) {
      refuse(Status::of<kOutOfMemory>());
      return false;
    }
    return true;
  }
  Outcome await_resume() {
    if (!failure_.ok()) return std::move(failure_);
    Status failure = failure_of_far_call(waiting_.take_failure(), waiting_.lost_its_loop());
    if (!failure.ok()) return failure;
    return task_->take();
  }

 private:
  BeginFarCall<Outcome, Wish> begins_;
  Wish wish_;
  std::unique_ptr<Record, ToldTask::Release> task_;
  ReturningTask waiting_;
};

}  // namespace detail

/// The way to a fleet of another loop: what `weft::on_loop_of(fleet)` gives. May be copied, kept and used by
/// any thread, also when the fleet has ended: calls fail with kCancelled then.
///
/// call() and its like are those of detail::FleetCalls, and each gives what is awaited, once: `auto reply =
/// co_await weft::on_loop_of(fleet).call<f>(x);`. Arguments are encoded here; the answer is decoded on the
/// fleet's loop. The deadline and the metadata that the coroutine carries go along, and its cancel reaches
/// the call. Errors beside theirs: kCancelled when the fleet's loop was stopped or the fleet has ended;
/// kFailedPrecondition in a child of fork, and for a fleet of this very loop with options that name memory.
class LoopFleet : public detail::FleetCalls<LoopFleet> {
 public:
  explicit LoopFleet(const FleetClient& fleet) : core_(fleet.core()), mailbox_(fleet.loop().mailbox()) {}

 private:
  friend detail::FleetCalls<LoopFleet>;

  template <auto M, typename... Given>
  auto make_call(const FleetCallOptions& options, Given&&... arguments) const {
    return make<M>(&detail::far_value<M>, options, false, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto make_answered_call(const FleetCallOptions& options, Given&&... arguments) const {
    return make<M>(&detail::far_answer<M>, options, true, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto make_call_all(const FleetCallOptions& options, Given&&... arguments) const {
    return make<M>(&detail::far_call_all<M>, options, detail::kAllServers, std::forward<Given>(arguments)...);
  }
  template <auto M, typename... Given>
  auto make_call_quorum(std::size_t wanted, const FleetCallOptions& options, Given&&... arguments) const {
    return make<M>(&detail::far_call_quorum<M>, options, wanted, std::forward<Given>(arguments)...);
  }
  /// The type of a call that does not compile.
  template <typename T>
  static Task<T> never();

  template <auto M, typename Outcome, typename Wish, typename... Given>
  detail::FleetCallOnLoop<Outcome, Wish> make(Task<Outcome> (*begins)(detail::FarCall, Wish),
                                              const FleetCallOptions& options, Wish wish,
                                              Given&&... arguments) const {
    Status failure;
    auto encoded = detail::EncodedArguments::of<M>(failure, std::forward<Given>(arguments)...);
    detail::FarCall call{core_, options, std::move(encoded)};
    return {detail::FarCaller{mailbox_, std::move(call), std::move(failure)}, begins, wish};
  }

  std::weak_ptr<detail::FleetCore> core_;
  std::shared_ptr<detail::Mailbox> mailbox_;
};

/// Calls functions of a fleet that belongs to another loop, which must exist while this is called and need
/// not be there afterwards. Thread: any; what it gives is awaited inside a turn of a loop.
inline LoopFleet on_loop_of(FleetClient& fleet) {
  return LoopFleet{fleet};
}

}  // namespace weft
