// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <coroutine>
#include <string_view>
#include <type_traits>
#include <utility>

#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/cancel.hpp"
#include "weft/detail/verbs/operation.hpp"

namespace weft::verbs::detail {

/// Properties of the operations of one kind: `Value`, the type of their result (or void), `result()`, which
/// reads it from the record, and the text with which a failure names the attempt.
template <typename T>
concept OperationFamily = requires {
  typename T::Value;
  { T::kWhat } -> std::convertible_to<std::string_view>;
};

/// Reason for which the device was not asked at all.
enum class NotPosted : std::uint8_t {
  kNone,
  kNoRecord,        ///< as many operations as a completion queue may have are under way
  kNotRegistered,   ///< empty memory, or a region of another protection domain
  kSegments,        ///< more pieces than the queue takes
  kTooLong,         ///< more bytes than a message may have, or than the remote memory has
  kUnaligned,       ///< an atomic's word whose address is no multiple of 8
  kNoWord,          ///< no memory for the old value of an atomic
  kSharedReceives,  ///< the queue pair has no receives of its own
};

Status failure_of(NotPosted why, std::string_view what);
Status failure_of(const Outcome& outcome, std::string_view what);

/// An operation that was posted, for a coroutine to await: the device has it already when its function
/// returns, or it waits for room in its queue, so that several can be posted before the first is awaited.
/// Movable until it is awaited. Gone without having been awaited, it drains. Thread: the loop's.
template <OperationFamily Family>
class [[nodiscard]] Posted {
 public:
  using value_type = typename Family::Value;

  explicit Posted(NotPosted why) noexcept : not_posted_(why) {}
  explicit Posted(Operation& operation) noexcept : operation_(&operation) {}
  Posted(Posted&& other) noexcept
      : operation_(std::exchange(other.operation_, nullptr)), not_posted_(other.not_posted_) {}
  Posted& operator=(const Posted&) = delete;
  ~Posted() {
    if (operation_ != nullptr) operation_->drop();
  }

  bool await_ready() const noexcept { return is_over() && weft::detail::may_go_on(); }

  template <typename Promise>
  bool await_suspend(std::coroutine_handle<Promise> coroutine) noexcept {
    if (is_over()) return spare_.schedule(coroutine);
    CancelScope* const scope = weft::detail::cancel_scope_of(coroutine);
    operation_->waiter = coroutine;
    if (scope == nullptr) return true;
    if (scope->cancelled()) {
      operation_->on_cancel(scope->reason());
    } else {
      scope->add(*operation_);
    }
    return true;
  }

  // Everything is read before the record goes: with it may go the table of a queue that has ended.
  Result<value_type> await_resume() {
    if (operation_ == nullptr) return failure_of(not_posted_, Family::kWhat);
    Operation& operation = *std::exchange(operation_, nullptr);
    not_posted_ = NotPosted::kNone;
    const Outcome outcome = operation.outcome;
    const CancelReason reason = operation.reason;
    if (!operation.take()) {
      return outcome.error == 0 ? weft::to_status(reason) : failure_of(outcome, Family::kWhat);
    }
    if (outcome.error == ECANCELED && reason != CancelReason::kNone) return weft::to_status(reason);
    if (outcome.error != 0 || outcome.status != IBV_WC_SUCCESS) return failure_of(outcome, Family::kWhat);
    if constexpr (std::is_void_v<value_type>) {
      return {};
    } else {
      return Family::result(outcome);
    }
  }

  /// Detaches the operation: it has no waiter, and its memory returns through its owner. Errors: an immediate
  /// refusal. Later failures are not reported, but the queue pair's next operations fail.
  Result<void> abandon() && {
    if (operation_ == nullptr) return failure_of(not_posted_, Family::kWhat);
    std::exchange(operation_, nullptr)->drop();
    return {};
  }

 private:
  bool is_over() const noexcept { return operation_ == nullptr || operation_->completed(); }

  Operation* operation_ = nullptr;
  NotPosted not_posted_ = NotPosted::kNone;
  weft::detail::SpareResumption spare_;
};

}  // namespace weft::verbs::detail
