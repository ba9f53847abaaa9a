// SPDX-License-Identifier: Apache-2.0
#include "calls/serve/connection_totals.hpp"

namespace weft::detail {

void ConnectionTotals::join(CountedConnection& connection) noexcept {
  if (made_in_.in_child()) return;
  const std::lock_guard lock(mutex_);
  connections_.push_back(connection);
}

void ConnectionTotals::leave(CountedConnection& connection) noexcept {
  if (made_in_.in_child()) return connection.unlink();
  const std::lock_guard lock(mutex_);
  connection.unlink();
  ended_ += connection.traffic();
}

ConnectionStats ConnectionTotals::sum() const noexcept {
  if (made_in_.in_child()) return {};
  const std::lock_guard lock(mutex_);
  ConnectionStats sum = ended_;
  connections_.for_each([&sum](CountedConnection& connection) { sum += connection.traffic(); });
  return sum;
}

}  // namespace weft::detail
