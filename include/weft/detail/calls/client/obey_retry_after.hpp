// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/calls/gate/client_interceptor.hpp"
#include "weft/detail/limits/quiet_methods.hpp"

namespace weft {

class Loop;

/// Holds back the calls of a method until the time that its server named when it refused one: earlier calls
/// fail at once with kResourceExhausted, have not run (Status::unprocessed()), and report the rest of the
/// wait, which with_retry() waits for. For a client or pool that is a single caller to its server; advice in
/// a handler's own failures holds nothing back. Fleets have FleetOptions::waits_as_told. Each client or pool
/// needs its own object, as the last of its interceptors. Thread: the client's loop.
class ObeyRetryAfter final : public ClientInterceptor {
 public:
  /// `loop` is the client's, and outlives the calls.
  explicit ObeyRetryAfter(Loop& loop) noexcept : loop_(loop) {}

  Status before(OutgoingCall& call) override;
  void after(const EndedCall& call) noexcept override;

 private:
  Loop& loop_;
  detail::QuietMethods quiet_;
};

}  // namespace weft
