// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call_door.hpp"

#include <utility>

#include "weft/detail/calls/call_target.hpp"
#include "weft/runtime/loop.hpp"

namespace weft::detail {

CallDoor::CallDoor(CallTarget& target)
    : target_(&target),
      mailbox_(target.loop().mailbox()),
      clock_(&target.loop().clock() == &steady_clock_source() ? &target.loop().clock() : nullptr),
      timeout_(target.timeouts().timeout()),
      carries_metadata_(target.carries_metadata()) {}

void CallDoor::close() noexcept {
  target_ = nullptr;
  closed_ = {StatusCode::kCancelled, Layer::kRpc, "the client has ended"};
  mailbox_->end_errands_of(this);
}

CallTarget::CallTarget(Loop& loop, Duration timeout, bool carries_metadata,
                       std::shared_ptr<const ClientGate> gate)
    : loop_(loop),
      timeouts_(loop, timeout, gate == nullptr),
      carries_metadata_(carries_metadata),
      gate_(std::move(gate)),
      door_(std::make_shared<CallDoor>(*this)) {
  loop_.mailbox()->use().add_resident();
}

CallTarget::~CallTarget() {
  door_->close();
  loop_.mailbox()->use().remove_resident();
}

}  // namespace weft::detail
