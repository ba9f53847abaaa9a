// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call/call_target.hpp"

#include <utility>

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

CallTarget::CallTarget(Loop& loop, Duration timeout, bool carries_metadata,
                       std::shared_ptr<const ClientGate> gate)
    : loop_(loop),
      home_(&loop),
      timeouts_(loop, timeout, gate == nullptr),
      carries_metadata_(carries_metadata),
      gate_(std::move(gate)),
      door_(std::make_shared<CallDoor>(*this)) {
  loop_.mailbox()->use().add_resident();
}

CallTarget::~CallTarget() {
  if (!is_over()) be_over({StatusCode::kCancelled, Layer::kRpc, "the client has ended"});
}

void CallTarget::be_over(Status why) noexcept {
  home_.store(this, std::memory_order_relaxed);
  open_ = nullptr;
  timeouts_.forget_all();
  door_->close(std::move(why));
  loop_.mailbox()->use().remove_resident();
}

}  // namespace weft::detail
