// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/call/call_door.hpp"

#include <utility>

#include "weft/detail/calls/call/call_target.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

CallDoor::CallDoor(CallTarget& target)
    : target_(&target),
      mailbox_(target.loop().mailbox()),
      clock_(&target.loop().clock() == &steady_clock_source() ? &target.loop().clock() : nullptr),
      timeout_(target.timeouts().timeout()),
      carries_metadata_(target.carries_metadata()) {}

void CallDoor::close(Status why) noexcept {
  target_ = nullptr;
  closed_ = std::move(why);
  is_closed_.store(true, std::memory_order_release);
  mailbox_->end_errands_of(this);
}

}  // namespace weft::detail
