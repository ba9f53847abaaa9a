// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <ucp/api/ucp.h>

#include <concepts>
#include <coroutine>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/ucx/library.hpp"
#include "weft/detail/ucx/operation.hpp"
#include "weft/detail/ucx/status.hpp"

namespace weft::ucx::detail {

/// Properties of the operations of one kind: `Value`, their result type (or void), `result()`, which reads it
/// from the record, and the name of the operation for the text of failures.
template <typename T>
concept OperationFamily = requires {
  typename T::Value;
  { T::kWhat } -> std::convertible_to<std::string_view>;
};

/// A family may know better than UCX's number what to do: `Family::advice(status)`, empty for the usual.
template <OperationFamily Family>
Status failure_of(ucs_status_t status) {
  if constexpr (requires { Family::advice(status); }) {
    return to_status(status, Family::kWhat, Family::advice(status));
  } else {
    return to_status(status, Family::kWhat);
  }
}

/// An operation that was posted, for a coroutine to await: UCX has it already when its function returns, so
/// that several can be posted before the first is awaited. Movable until it is awaited. Gone without having
/// been awaited, it is taken back from UCX if it can be, and else drains. Thread: the loop's.
template <OperationFamily Family>
class [[nodiscard]] Posted {
 public:
  using value_type = typename Family::Value;

  explicit Posted(ucs_status_t refusal) noexcept : status_(refusal), held_(nullptr) {}
  explicit Posted(Operation& under_way) noexcept : status_(UCS_INPROGRESS), held_(&under_way) {}
  /// Done at once. `record` is free, but has what UCX wrote until the next operation.
  static Posted done(const Operation& record) noexcept { return Posted{Held{read(record)}}; }

  Posted(Posted&& other) noexcept
      : status_(std::exchange(other.status_, UCS_ERR_NO_ELEM)), held_(other.held_) {}
  Posted& operator=(const Posted&) = delete;
  ~Posted() {
    if (under_way()) held_.operation->drop();
  }

  bool await_ready() const noexcept { return is_over() && weft::detail::may_go_on(); }

  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    return suspend(coroutine, weft::detail::cancel_scope_of(coroutine));
  }

  [[gnu::always_inline]] Result<value_type> await_resume() {
    if (under_way()) return taken();
    if (status_ == UCS_OK) [[likely]] {
      return made(held_.value);
    }
    return failure_of<Family>(status_);
  }

  /// Detaches the operation: no coroutine waits for it, and its memory returns through its owner. Errors: an
  /// immediate refusal by UCX. Later failures are not reported.
  Result<void> abandon() && {
    const ucs_status_t status = std::exchange(status_, UCS_ERR_NO_ELEM);
    if (status == UCS_INPROGRESS) {
      held_.operation->drop();
    } else if (status != UCS_OK) {
      return failure_of<Family>(status);
    }
    return {};
  }

 private:
  struct Nothing {};
  using Value = std::conditional_t<std::is_void_v<value_type>, Nothing, value_type>;
  static_assert(std::is_trivially_copyable_v<Value>);
  union Held {
    explicit Held(Operation* record) noexcept : operation(record) {}
    explicit Held(Value got) noexcept : value(got) {}
    Operation* operation;
    Value value;
  };

  explicit Posted(Held value) noexcept : status_(UCS_OK), held_(value) {}

  bool under_way() const noexcept { return status_ == UCS_INPROGRESS; }
  bool is_over() const noexcept { return !under_way() || held_.operation->completed(); }

  bool suspend(std::coroutine_handle<> coroutine, CancelScope* scope) noexcept {
    if (is_over()) return spare_.schedule(coroutine);
    Operation& operation = *held_.operation;
    const bool cancelled = scope != nullptr && scope->cancelled();
    if (!cancelled && operation.completes_soon()) {
      return !weft::detail::may_go_on() && spare_.schedule(coroutine);
    }
    operation.waiter = coroutine;
    if (cancelled) {
      operation.on_cancel(scope->reason());
    } else if (scope != nullptr) {
      scope->add(operation);
    }
    return true;
  }

  // Everything is read before the record goes: with it may go the pool of a worker that has ended.
  [[gnu::always_inline]] Result<value_type> taken() {
    Operation& operation = *held_.operation;
    status_ = operation.status;
    const CancelReason reason = operation.reason;
    const Value value = read(operation);
    if (operation.take() && status_ == UCS_OK) [[likely]] {
      return made(value);
    }
    return failure(std::exchange(status_, UCS_OK), reason);
  }
  // `status` is UCS_INPROGRESS when the coroutine goes on before UCX does.
  static Status failure(ucs_status_t status, CancelReason reason) {
    const bool asked = status == UCS_ERR_CANCELED || status == UCS_INPROGRESS;
    if (asked && reason != CancelReason::kNone) return weft::to_status(reason);
    return failure_of<Family>(status);
  }

  static Value read([[maybe_unused]] const Operation& record) noexcept {
    if constexpr (std::is_void_v<value_type>) {
      return {};
    } else {
      return Family::result(record);
    }
  }
  static Result<value_type> made([[maybe_unused]] const Value& value) {
    if constexpr (std::is_void_v<value_type>) {
      return {};
    } else {
      return value;
    }
  }

  ucs_status_t status_;
  Held held_;
  weft::detail::SpareResumption spare_;
};

// Posting is inlined up to the call of UCX, here and in the functions of each family: parameters that are
// constant at the call (no header, no flags, no value) then cost nothing, and everything else stays in
// registers.

/// Posts an operation of `pool` by `call(record)`, which calls UCX with the record as its user data. When UCX
/// does not complete it at once, `keep(record)` moves all objects that must live until then into the record,
/// and sets its kind. `record` comes from one of the pool's peek functions.
template <OperationFamily Family, typename Call, typename Keep>
[[gnu::always_inline]] inline Posted<Family> post_with(Operation* record, OperationPool& pool, Call call,
                                                       Keep keep) noexcept {
  if (record == nullptr) [[unlikely]] {
    return Posted<Family>{UCS_ERR_NO_RESOURCE};
  }
  const ucs_status_ptr_t answer = call(*record);
  if (answer == nullptr) return Posted<Family>::done(*record);
  if (is_error(answer)) [[unlikely]] {
    return Posted<Family>{error_of(answer)};
  }
  pool.take(*record, answer);
  keep(*record);
  return Posted<Family>{*record};
}

/// The same within the pool's limit; `pool` is null where there is no connection.
template <OperationFamily Family, typename Call, typename Keep>
[[gnu::always_inline]] inline Posted<Family> post(OperationPool* pool, Call call, Keep keep) noexcept {
  if (pool == nullptr) [[unlikely]] {
    return Posted<Family>{UCS_ERR_NOT_CONNECTED};
  }
  return post_with<Family>(pool->peek(), *pool, call, keep);
}

/// The same for receives, because UCX may call their completion before it returns: always with
/// UCP_OP_ATTR_FLAG_NO_IMM_CMPL, and without it when the data must be fetched or does not fit.
template <OperationFamily Family, typename Call, typename Keep>
[[gnu::always_inline]] inline Posted<Family> post_receive(Operation* record, OperationPool& pool, Call call,
                                                          Keep keep) noexcept {
  if (record == nullptr) [[unlikely]] {
    return Posted<Family>{UCS_ERR_NO_RESOURCE};
  }
  record->begin_call();
  const ucs_status_ptr_t answer = call(*record);
  const bool called_back = record->end_call();
  if (answer == nullptr) return Posted<Family>::done(*record);
  if (is_error(answer)) [[unlikely]] {
    return Posted<Family>{error_of(answer)};
  }
  if (called_back) {
    detail::library.ucp_request_free(answer);
    return record->status == UCS_OK ? Posted<Family>::done(*record) : Posted<Family>{record->status};
  }
  pool.take(*record, answer);
  keep(*record);
  return Posted<Family>{*record};
}

}  // namespace weft::ucx::detail
