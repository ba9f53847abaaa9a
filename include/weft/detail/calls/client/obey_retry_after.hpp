// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/calls/client_interceptor.hpp"
#include "weft/detail/limits/quiet_methods.hpp"

namespace weft {

class Loop;

/// Lets no call of a method leave before the time that its server said when it refused one: such a call fails
/// at once with kResourceExhausted, has not run (Status::unprocessed()), and says how much of the wait is
/// left, which with_retry() waits for. For a client or pool that is one caller to its server; what a handler
/// says of its own failures holds nothing back. Fleets have FleetOptions::waits_as_told. Each client or pool
/// has one of its own, as the last of its interceptors. Thread: the client's loop.
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
