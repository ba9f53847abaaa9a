// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/bring_up_room.hpp"

#include <algorithm>
#include <utility>

namespace weft::detail::ucx_carrier {

BringUpRoom::BringUpRoom(Loop& loop, std::size_t places, Duration stay) noexcept
    : Ready([](Ready* node) noexcept { static_cast<BringUpRoom*>(node)->let_in(); }),
      loop_(loop),
      places_(places),
      stay_(stay) {}

bool BringUpRoom::enter(Guest& guest) noexcept {
  if (places_ == 0 || !waiting_.empty()) {
    waiting_.push_back(guest);
    watch();
    return false;
  }
  admit(guest);
  return true;
}

void BringUpRoom::admit(Guest& guest) noexcept {
  --places_;
  guest.inside_ = true;
  guest.entered_ = loop_.now();
  inside_.push_back(guest);
}

void BringUpRoom::leave(Guest& guest) noexcept {
  guest.unlink();
  const bool had_place = std::exchange(guest.inside_, false);
  watch();
  if (!had_place) return;
  ++places_;
  if (!waiting_.empty() && !Ready::is_scheduled()) loop_.schedule(*this);
}

void BringUpRoom::let_in() noexcept {
  if (waiting_.empty() || places_ == 0) return;
  Guest& guest = waiting_.pop_front();
  admit(guest);
  watch();
  if (!waiting_.empty() && places_ > 0) loop_.turn_time().put_off(*this);
  guest.on_place(true);
}

// The timer runs while others wait, for the oldest guest.
void BringUpRoom::watch() noexcept {
  if (waiting_.empty() || inside_.empty()) {
    if (armed()) loop_.disarm(*this);
    return;
  }
  loop_.arm(*this, std::max(loop_.now(), inside_.front().entered_ + stay_));
}

// Looks first at what its peer said while this loop did not run.
void BringUpRoom::on_timer() {
  if (waiting_.empty() || inside_.empty()) return;
  const TimePoint fair = loop_.turn_time().absence().judge_from(stay_);
  if (fair > loop_.now()) return loop_.arm(*this, fair);
  Guest& guest = inside_.front();
  if (guest.entered_ + stay_ <= loop_.now()) {
    leave(guest);
    guest.on_place(false);
  } else {
    watch();
  }
}

}  // namespace weft::detail::ucx_carrier
