// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/client/obey_retry_after.hpp"

#include <chrono>
#include <string>

#include "weft/detail/base/saturated.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft {

Status ObeyRetryAfter::before(OutgoingCall& call) {
  const TimePoint now = loop_.now();
  const Duration wait = quiet_.until(detail::hash_name(call.method()), now) - now;
  if (wait <= Duration::zero()) return {};
  Status refusal{StatusCode::kResourceExhausted, Layer::kRpc,
                 [&] {
                   const auto left = std::chrono::ceil<std::chrono::milliseconds>(wait);
                   return "the server asked not to be called for " + std::string{call.method()} +
                          " for another " + std::to_string(left.count()) + " ms";
                 },
                 0, Retry::kBackoff};
  refusal.set_retry_after(wait);
  refusal.mark_unprocessed();
  return refusal;
}

// Calls that before() refused do not come here, or a wait that is rounded up would never end.
void ObeyRetryAfter::after(const EndedCall& call) noexcept {
  const Duration wait = call.status.retry_after();
  if (wait <= Duration::zero() || !call.status.unprocessed()) return;
  const TimePoint now = loop_.now();
  quiet_.tell(detail::hash_name(call.method), detail::saturated_sum(now, wait), now);
}

}  // namespace weft
