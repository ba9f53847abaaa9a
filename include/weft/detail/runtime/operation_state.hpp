// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// The life of one operation on memory that another party uses until it reports completion: a library such as
/// UCX, or an RDMA device; "the device" in the following. This file knows no device: the bindings run this
/// code, and tests/unit/runtime/operation_state_test.cpp runs every order of events through the same code.
///
/// A record is taken when the device has the operation. From then on the device reads or writes the
/// operation's memory until it completes the operation, even if the coroutine ends before. So the record,
/// which holds the memory, has a life of its own:
///
///   kReaped            free. Not referred to, holds nothing.
///   kPosted            the device has the memory; a coroutine waits, or will.
///   kCancelRequested   the same, after a cancel. Revocable operations were taken back, and their
///                      completion then says which of the two came first. Of all others the device takes
///                      nothing back: when the record owns the memory the coroutine is woken at once,
///                      otherwise it waits on.
///   kAbandoned         the device has the memory; no coroutine waits any more. The record drains.
///   kCompleted         the device is done with the memory; the waiting coroutine is in the ready queue,
///                      and one that does not wait yet finds the result.
///   kDrained           the device is done with the memory; the result is not used. Reaped in the next turn.
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
/// Memory is returned in the step to kReaped and in no other one, outside of the device's callbacks. `close`
/// is the end of the device's part (ucp_worker_destroy, ibv_destroy_qp): the device accesses nothing
/// afterwards, so it replaces the missing completion.
namespace weft::detail {

enum class OperationState : std::uint8_t {
  kReaped,
  kPosted,
  kCancelRequested,
  kAbandoned,
  kCompleted,
  kDrained,
};

enum class OperationEvent : std::uint8_t {
  kComplete,  ///< the device is done
  kCancel,    ///< the coroutine's scope was cancelled
  kDrop,      ///< the awaitable was destroyed before it was resumed
  kTake,      ///< the coroutine was resumed, or need not suspend at all, and asks for the result
  kReap,      ///< the record's turn in the ready queue without a waiter
  kClose,     ///< the device's part was destroyed
};

/// Kind of an operation; does not change while the device has it.
struct OperationKind {
  /// The device returns the memory on request: UCX's tag receives, and entries of our own queues.
  bool revocable = false;
  /// The record keeps the memory alive, so that the coroutine need not wait for the device.
  bool owns_memory = true;
};

/// Actions of the library in one step.
struct OperationStep {
  OperationState next = OperationState::kReaped;
  /// Ask the device to give it back.
  bool revoke = false;
  /// Put the record into the ready queue, unless it is there.
  bool schedule = false;
  /// Take the record out of the ready queue, if it is there.
  bool unschedule = false;
  /// Release the memory and recycle the record.
  bool give_back = false;
  /// The event must not happen: memory that the device still uses was dropped.
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

}  // namespace weft::detail
