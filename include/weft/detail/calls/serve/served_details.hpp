// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/gate/call_envelope.hpp"
#include "weft/detail/calls/terms/answer_body.hpp"
#include "weft/detail/coro/frame_pool.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

class ServedCall;
struct WorkerQueueTag;

/// Details of a served call that an idle stream does without: its deadline, its place among the calls
/// that wait for a worker, its attachments, and what its handler keeps. In one block with the record where it
/// is known to be needed, which is for all but streams; else made when it is. Thread: as each says.
struct ServedDetails final : ListHook<WorkerQueueTag>, Timer, PooledFrame {
  explicit ServedDetails(ServedCall& its_call) noexcept : call(&its_call) {}
  /// The deadline has passed.
  void on_timer() override;

  ServedCall* const call;
  /// A worker that takes the call later does not run it.
  TimePoint run_until = TimePoint::max();
  /// Time from the receipt of the request until a worker took it; only where calls are timed.
  Duration waited{};
  /// Time from which on an answer waited for room; zero if none did.
  TimePoint sending_since{};
  CallEnvelope envelope{};
  /// Memory that the handler's arguments point into.
  std::shared_ptr<void> kept_by_handler{};
  /// Encoded result of a handler that ran on a worker.
  AnswerBody late_body{};
};

}  // namespace weft::detail
