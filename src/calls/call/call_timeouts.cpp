// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call/call_timeouts.hpp"

#include <chrono>

#include "calls/call/call_path.hpp"

namespace weft::detail {

namespace {

std::uint32_t in_header(Duration timeout) {
  const auto micros = std::chrono::ceil<std::chrono::microseconds>(timeout).count();
  return timeout != kNoTimeout && micros > 0 && micros < 0xFFFFFFFFLL ? static_cast<std::uint32_t>(micros)
                                                                      : 0;
}

}  // namespace

CallTimeouts::CallTimeouts(Loop& loop, Duration timeout, bool plain)
    : loop_(loop), timeout_(timeout), wire_timeout_(plain ? in_header(timeout) : 0) {}

void CallTimeouts::forget_all() noexcept {
  while (!calls_.empty()) calls_.pop_front();
  if (armed()) loop_.disarm(*this);
}

void CallTimeouts::on_timer() {
  const TimePoint now = loop_.now();
  // A call whose connection has more to read stays, and holds up no call of another connection.
  IntrusiveList<PendingCall, TargetCallTag> stay;
  while (!calls_.empty() && calls_.front().request().deadline.expired(now)) {
    PendingCall& call = calls_.pop_front();
    if (!call.may_time_out()) {
      stay.push_back(call);
    } else if (!call.done()) {
      call.on_cancel(CancelReason::kDeadline);
    }
  }
  stay.splice_back(calls_);
  calls_.splice_back(stay);
  if (!calls_.empty()) loop_.arm(*this, calls_.front().request().deadline.at());
}

}  // namespace weft::detail
