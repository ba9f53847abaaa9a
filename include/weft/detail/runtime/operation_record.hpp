// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <coroutine>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/coro/trampoline.hpp"
#include "weft/detail/runtime/operation_state.hpp"

namespace weft::detail {

/// Base of the operation records of all bindings: executes the steps of operation_state.hpp.
///
/// `Derived` has `Executor& executor()`, `void revoke()`, which asks the device for the memory if
/// OperationKind allows that, and `void give_back()`, which releases the memory and recycles the record,
/// possibly also its pool. Thread: the loop's.
template <typename Derived>
class OperationRecord : public Ready, public CancelListener {
 public:
  OperationRecord() noexcept : Ready(&OperationRecord::ran) {}

  bool completed() const noexcept { return state == OperationState::kCompleted; }

  /// The coroutine's turn: true when the operation completed; its result belongs to the coroutine then. False
  /// when the coroutine continues before the device is done; `reason` says why.
  [[gnu::always_inline]] bool take() noexcept {
    if (state == OperationState::kCompleted) [[likely]] {
      apply(on_take(OperationState::kCompleted, kind));
      return true;
    }
    stop_listening();
    apply(on_take(state, kind));
    return false;
  }
  /// Gives up an operation that was posted, before a coroutine took its result.
  void drop() noexcept {
    stop_listening();
    apply(on_drop(state, kind));
  }
  void on_cancel(CancelReason cancel_reason) noexcept final {
    reason = cancel_reason;
    apply(detail::on_cancel(state, kind));
  }

  // The waiting coroutine; null until it suspends.
  std::coroutine_handle<> waiter;
  OperationState state = OperationState::kReaped;
  OperationKind kind;
  CancelReason reason = CancelReason::kNone;

 protected:
  ~OperationRecord() = default;

  void complete_step() noexcept { apply(on_complete(state)); }
  void close_step() noexcept { apply(on_close(state)); }
  /// Called first by give_back().
  [[gnu::always_inline]] void forget_waiter() noexcept {
    if (waiter == nullptr) return;
    stop_listening();
    waiter = {};
  }

 private:
  static void ran(Ready* node) noexcept {
    auto& self = *static_cast<OperationRecord*>(node);
    if (self.state == OperationState::kDrained) {
      self.apply(on_reap(self.state));
    } else {
      resume(self.waiter);
    }
  }
  /// A result that no coroutine waits for yet is found by await_ready().
  bool wants_turn() const noexcept { return waiter != nullptr || state == OperationState::kDrained; }

  // The state first: the device may complete it while it is revoked, and giving back may end the pool.
  [[gnu::always_inline]] void apply(OperationStep step) noexcept {
    WEFT_ASSERT(!step.misuse,
                "borrowed memory was dropped while the layer below used it (docs/pitfalls, Borrowed memory)");
    Derived& self = static_cast<Derived&>(*this);
    state = step.next;
    if (step.unschedule && is_scheduled()) self.executor().unschedule(*this);
    if (step.schedule && wants_turn() && !is_scheduled()) self.executor().schedule(*this);
    if (step.give_back) return self.give_back();
    if (step.revoke) self.revoke();
  }
};

}  // namespace weft::detail
