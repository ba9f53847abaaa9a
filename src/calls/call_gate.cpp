// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call_gate.hpp"

#include "weft/detail/calls/call_target.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

CallGate::CallGate(CallTarget& target)
    : target_(&target),
      mailbox_(target.loop().mailbox()),
      clock_(target.loop().clock().advances_by_itself() ? &target.loop().clock() : nullptr),
      timeout_(target.timeouts().timeout()),
      carries_metadata_(target.carries_metadata()) {}

void CallGate::close() noexcept {
  target_ = nullptr;
  closed_ = {StatusCode::kCancelled, Layer::kRpc, "the client has ended"};
  mailbox_->end_errands_of(this);
}

CallTarget::CallTarget(Loop& loop, Duration timeout, bool carries_metadata)
    : loop_(loop),
      timeouts_(loop, timeout),
      carries_metadata_(carries_metadata),
      gate_(std::make_shared<CallGate>(*this)) {
  loop_.mailbox()->use().add_resident();
}

CallTarget::~CallTarget() {
  gate_->close();
  loop_.mailbox()->use().remove_resident();
}

}  // namespace weft::detail
