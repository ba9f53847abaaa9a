// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/fleet/fleet_on_loop.hpp"

#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

namespace {

constexpr FixedFailure kOwnLoop{
    StatusCode::kFailedPrecondition, Layer::kRpc, Retry::kNever,
    "on_loop_of() was given a fleet of this loop, with an attachment or other memory of the caller's: write "
    "co_await fleet.call<f>(...)",
    true};

}  // namespace

bool FarCaller::prepare(const CancelScope* scope) {
  const Loop* home = Loop::current();
  if (home != nullptr && home->mailbox() == mailbox_ && names_memory(call_.options)) {
    // Dropping it would wait for this very thread.
    refuse(Status::of<kOwnLoop>());
    return false;
  }
  if (scope == nullptr) return true;
  if (scope->cancelled()) {
    refuse(to_status(scope->reason()));
    return false;
  }
  call_.options.call.deadline = call_.options.call.deadline.earlier(scope->deadline());
  const Bytes carried = scope->carried();
  call_.carried.assign(carried.begin(), carried.end());
  return true;
}

void FarCaller::refuse(Status failure) noexcept {
  failure_ = std::move(failure);
  failure_.mark_unprocessed();
}

}  // namespace weft::detail
