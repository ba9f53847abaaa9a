// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The life of one operation that UCX did not finish at once. No UCX in here: the library runs this code, and
/// tests/unit/ucx/operation_state_test.cpp runs every order of events through the same code.
///
/// A record is taken when UCX answers "in progress". From then on UCX reads or writes the operation's memory
/// until it calls the completion, whatever the coroutine does meanwhile. So the record, which holds the
/// memory, has a life of its own:
///
///   kReaped            free. Nobody refers to it, it holds nothing.
///   kPosted            UCX has the memory; a coroutine waits, or will.
///   kCancelRequested   the same, and somebody asked for an end. A tag receive was taken back from UCX, whose
///                      completion then says which of the two came first. UCX takes nothing else back: when
///                      the record owns the memory the coroutine is woken at once, otherwise it waits on.
///   kAbandoned         UCX has the memory; no coroutine waits any more. The record drains.
///   kCompleted         UCX is done with the memory; the coroutine that waits is in the ready queue, and one
///   that
///                      does not wait yet finds the result.
///   kDrained           UCX is done with the memory; nobody wants the result. Reaped in the next turn.
///
///                         complete                take
///   kReaped -post-> kPosted -----------> kCompleted ----> kReaped
///                     |  | cancel          ^   | drop
///                     |  v                 |   `--------> kReaped
///                     | kCancelRequested --' complete
///                drop |  | take (woken early), drop
///                     v  v    complete           reap
///                   kAbandoned ------> kDrained -----> kReaped
///
/// Memory is given back in the step to kReaped and in no other one, outside of UCX's callbacks. `close` is
/// the end of the worker: after ucp_worker_destroy UCX touches nothing, so it stands for the completion that
/// UCX may have left out.
namespace weft::ucx::detail {

enum class OperationState : std::uint8_t {
  kReaped,
  kPosted,
  kCancelRequested,
  kAbandoned,
  kCompleted,
  kDrained,
};

enum class OperationEvent : std::uint8_t {
  kComplete,  ///< UCX called the completion
  kCancel,    ///< the coroutine's scope was cancelled
  kDrop,      ///< the awaitable was destroyed before it was resumed
  kTake,      ///< the coroutine was resumed, or need not suspend at all, and asks for the result
  kReap,      ///< the record's turn in the ready queue while nobody waits
  kClose,     ///< the worker is destroyed
};

/// What an operation is; does not change while it is under way.
struct OperationKind {
  /// ucp_request_cancel() does something: tag receives.
  bool revocable = false;
  /// The record keeps the memory alive, so that the coroutine need not wait for UCX.
  bool owns_memory = true;
};

/// What the library does in a step.
struct OperationStep {
  OperationState next = OperationState::kReaped;
  /// Call ucp_request_cancel().
  bool revoke = false;
  /// Put the record into the ready queue, unless it is there.
  bool schedule = false;
  /// Take the record out of the ready queue, if it is there.
  bool unschedule = false;
  /// Release the memory and recycle the record.
  bool give_back = false;
  /// The event must not happen: somebody dropped memory that UCX still uses.
  bool misuse = false;
};

constexpr OperationStep on_complete(OperationState state) {
  using enum OperationState;
  if (state == kPosted || state == kCancelRequested) return {.next = kCompleted, .schedule = true};
  if (state == kAbandoned) return {.next = kDrained, .schedule = true};
  return {.next = state, .misuse = true};
}

constexpr OperationStep on_cancel(OperationState state, OperationKind kind) {
  using enum OperationState;
  if (state != kPosted) return {.next = state};
  if (kind.revocable) return {.next = kCancelRequested, .revoke = true};
  return {.next = kCancelRequested, .schedule = kind.owns_memory};
}

constexpr OperationStep on_drop(OperationState state, OperationKind kind) {
  using enum OperationState;
  if (state == kCompleted) return {.next = kReaped, .unschedule = true, .give_back = true};
  if (state == kPosted || state == kCancelRequested) {
    return {.next = kAbandoned,
            .revoke = kind.revocable && state == kPosted,
            .unschedule = true,
            .misuse = !kind.owns_memory};
  }
  return {.next = state, .misuse = true};
}

constexpr OperationStep on_take(OperationState state, OperationKind kind) {
  using enum OperationState;
  if (state == kCompleted) return {.next = kReaped, .unschedule = true, .give_back = true};
  if (state == kCancelRequested && !kind.revocable && kind.owns_memory) return {.next = kAbandoned};
  return {.next = state, .misuse = true};
}

constexpr OperationStep on_reap(OperationState state) {
  using enum OperationState;
  if (state == kDrained) return {.next = kReaped, .give_back = true};
  return {.next = state, .misuse = true};
}

constexpr OperationStep on_close(OperationState state) {
  using enum OperationState;
  if (state == kPosted || state == kCancelRequested) return {.next = kCompleted, .schedule = true};
  if (state == kAbandoned || state == kDrained) {
    return {.next = kReaped, .unschedule = true, .give_back = true};
  }
  return {.next = state};
}

/// The step that `event` makes of `state`.
constexpr OperationStep step(OperationState state, OperationEvent event, OperationKind kind) {
  switch (event) {
    case OperationEvent::kComplete:
      return on_complete(state);
    case OperationEvent::kCancel:
      return on_cancel(state, kind);
    case OperationEvent::kDrop:
      return on_drop(state, kind);
    case OperationEvent::kTake:
      return on_take(state, kind);
    case OperationEvent::kReap:
      return on_reap(state);
    case OperationEvent::kClose:
      return on_close(state);
  }
  return {.next = state, .misuse = true};
}

}  // namespace weft::ucx::detail
