// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/bring_up_room.hpp"

#include <utility>

namespace weft::detail::ucx_carrier {

BringUpRoom::BringUpRoom(Loop& loop, std::size_t places) noexcept
    : Ready([](Ready* node) noexcept { static_cast<BringUpRoom*>(node)->let_in(); }),
      loop_(loop),
      places_(places) {}

bool BringUpRoom::enter(Guest& guest) noexcept {
  if (places_ == 0 || !waiting_.empty()) {
    waiting_.push_back(guest);
    return false;
  }
  --places_;
  return guest.inside_ = true;
}

void BringUpRoom::leave(Guest& guest) noexcept {
  guest.unlink();
  if (!std::exchange(guest.inside_, false)) return;
  ++places_;
  if (!waiting_.empty() && !Ready::is_scheduled()) loop_.schedule(*this);
}

void BringUpRoom::let_in() noexcept {
  if (waiting_.empty() || places_ == 0) return;
  Guest& guest = waiting_.pop_front();
  --places_;
  guest.inside_ = true;
  if (!waiting_.empty() && places_ > 0) loop_.turn_time().put_off(*this);
  guest.on_room();
}

}  // namespace weft::detail::ucx_carrier
