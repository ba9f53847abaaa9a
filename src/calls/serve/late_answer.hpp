// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/answer_body.hpp"
#include "weft/detail/calls/terms/answer_sink.hpp"
#include "weft/detail/coro/executor.hpp"

namespace weft::detail {

class ServedCall;

/// An answer, or a failure, of a call that cannot suspend and has a connection without room. It waits for
/// room, or for the connection's end, holds the call's record meanwhile, and owns itself. Thread: the call's
/// loop.
class LateAnswer final : private Ready, private RoomWaiter {
 public:
  /// Keeps `body`, charged until the call ends, and `failure` if there is no room; otherwise leaves both
  /// unchanged and returns false. If there is no memory for a body, a failure replaces it, which is small; if
  /// there is none for the text of a failure, only its beginning is kept. If there is no memory at all,
  /// nothing is kept: the answer is sent although the queue is above its mark.
  static bool keep(ServedCall& call, AnswerBody& body, Status& failure) noexcept;
  /// Answers `call` with `body`, or with `failure` if that is one. A long body is kept until it was sent from
  /// where it lies; else `body` is copied.
  static void send(ServedCall& call, AnswerBody body, const Status& failure);

 private:
  explicit LateAnswer(ServedCall& call) noexcept;
  ~LateAnswer() = default;

  void send_and_end();

  ServedCall& call_;
  AnswerBody body_;
  Status failure_;
};

}  // namespace weft::detail
