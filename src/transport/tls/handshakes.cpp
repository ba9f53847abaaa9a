// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/handshakes.hpp"

namespace weft::detail::tls {

// Examines all handshakes, which costs little compared with one of them; a table of addresses could be filled
// by strangers.
void Handshakes::enter(Handshake& handshake) noexcept {
  Handshake* oldest = nullptr;
  std::size_t of_address = 0;
  under_way_.for_each([&](Handshake& other) {
    if (handshake.address() == 0 || other.address() != handshake.address()) return;
    if (of_address++ == 0) oldest = &other;
  });
  under_way_.push_back(handshake);
  if (++count_ <= most_.all) return;
  if (oldest != nullptr && of_address >= most_.of_address) {
    leave(*oldest);
    return oldest->on_pushed_out();
  }
  --count_;
  under_way_.pop_front().on_pushed_out();
}

void Handshakes::leave(Handshake& handshake) noexcept {
  if (!handshake.linked()) return;
  handshake.unlink();
  --count_;
}

std::shared_ptr<Handshakes> HandshakesByLoop::of(Loop& loop) {
  const std::lock_guard lock{mutex_};
  std::weak_ptr<Handshakes>& kept = all_[&loop];
  std::shared_ptr<Handshakes> found = kept.lock();
  if (found != nullptr) return found;
  std::erase_if(all_, [&](const auto& entry) { return entry.first != &loop && entry.second.expired(); });
  found = std::make_shared<Handshakes>(most_);
  all_[&loop] = found;
  return found;
}

}  // namespace weft::detail::tls
