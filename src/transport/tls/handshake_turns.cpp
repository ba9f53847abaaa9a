// SPDX-License-Identifier: Apache-2.0
#include "transport/tls/handshake_turns.hpp"

#include "weft/detail/runtime/loop.hpp"

namespace weft::detail::tls {

std::shared_ptr<HandshakeTurns> HandshakeTurns::of(Loop& loop) {
  if (void* const found = loop.find_local(typeid(HandshakeTurns))) {
    return static_cast<HandshakeTurns*>(found)->shared_from_this();
  }
  auto made = std::make_shared<HandshakeTurns>(loop);
  loop.add_local(*made);
  return made;
}

HandshakeTurns::HandshakeTurns(Loop& loop) noexcept
    : ExecutorLocal(typeid(HandshakeTurns)),
      Ready([](Ready* node) noexcept { static_cast<HandshakeTurns*>(node)->run_one(); }),
      loop_(loop) {
  set_object(this);
}

void HandshakeTurns::wait(Ready& step) noexcept {
  waiting_.push_back(step);
  if (!is_scheduled()) loop_.turn_time().put_off(*this);
}

// All handshakes that waited may have ended meanwhile.
void HandshakeTurns::run_one() noexcept {
  if (waiting_.empty()) return;
  loop_.schedule(waiting_.pop_front());
  if (!waiting_.empty()) loop_.turn_time().put_off(*this);
}

}  // namespace weft::detail::tls
