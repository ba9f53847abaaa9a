// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/gate/incoming_call.hpp"

namespace weft {

/// Observes every call of a server before and after its handler: checks a token, counts, logs, or extracts
/// trace ids. Created in `main`, and listed in ServerOptions::interceptors: calls pass the list in its order
/// on their way in, and in reverse on their way out. It is independent of argument types, so it works for
/// functions and for protobuf.
///
/// Thread: each loop of the server calls it on its own thread, concurrently with others. It blocks its loop's
/// other calls for its duration.
class ServerInterceptor {
 public:
  virtual ~ServerInterceptor() = default;

  /// Called before the handler, and before an attachment has arrived. A failure refuses the call, and becomes
  /// its answer; it may carry the time for the next try (Status::set_retry_after()). An exception refuses the
  /// call too.
  virtual Status before([[maybe_unused]] IncomingCall& call) { return {}; }
  /// Called once for each call that passed this one's before(): when its answer is on its way to the peer, or
  /// when it was refused further on, given up by its caller (kCancelled) or lost its connection
  /// (kUnavailable); the handler may run on then.
  virtual void after([[maybe_unused]] const EndedCall& call) noexcept {}

 protected:
  ServerInterceptor() = default;
  ServerInterceptor(const ServerInterceptor&) = default;
  ServerInterceptor& operator=(const ServerInterceptor&) = default;
};

}  // namespace weft
