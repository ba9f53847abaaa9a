// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/incoming_call.hpp"

namespace weft {

/// Something that sees every call of a server before its handler and after it: checks a token, counts, logs,
/// takes over the ids of a trace. Made in `main`, and listed in ServerOptions::interceptors: calls pass the
/// list in its order on their way in, and in reverse on their way out. Knows no types of arguments, so it is
/// the same for functions and for protobuf.
///
/// Thread: each loop of the server asks it on its own thread, at the same time as others. It holds up its
/// loop's other calls for as long as it takes.
class ServerInterceptor {
 public:
  virtual ~ServerInterceptor() = default;

  /// Called before the handler, and before an attachment has arrived. A failure refuses the call, which goes
  /// no further, and is its answer; it may say when to come again (Status::set_retry_after()). Throwing
  /// refuses the call too.
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
