// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/connection_totals.hpp"

#include "calls/sending/session_link.hpp"

namespace weft::detail {

void ConnectionTotals::join(SessionLink& session) noexcept {
  if (made_in_.in_child()) return;
  const std::lock_guard lock(mutex_);
  sessions_.push_back(session);
}

void ConnectionTotals::leave(SessionLink& session) noexcept {
  auto& hook = static_cast<ListHook<CountedSessionTag>&>(session);
  if (made_in_.in_child()) return hook.unlink();
  const std::lock_guard lock(mutex_);
  hook.unlink();
  ended_ += session.connection().stats();
}

ConnectionStats ConnectionTotals::sum() const noexcept {
  if (made_in_.in_child()) return {};
  const std::lock_guard lock(mutex_);
  ConnectionStats sum = ended_;
  sessions_.for_each([&sum](SessionLink& session) { sum += session.connection().stats(); });
  return sum;
}

}  // namespace weft::detail
