// SPDX-License-Identifier: Apache-2.0
#include "calls/client/lane_connections.hpp"

namespace weft::detail {

namespace {

void count_calls(PoolStats& stats, PooledConnection& connection) {
  const CallsOut& calls = connection.session().calls_out();
  stats.calls += calls.table().entered();
  stats.late_answers += calls.late_answers();
}

}  // namespace

PooledConnection* LaneConnections::with_fewest_calls() {
  PooledConnection* best = nullptr;
  up.for_each([&best](PooledConnection& each) {
    if (each.has_room() && (best == nullptr || each.in_flight() < best->in_flight())) best = &each;
  });
  return best;
}

PooledConnection* LaneConnections::expired(TimePoint now) {
  PooledConnection* found = nullptr;
  up.for_each([&](PooledConnection& each) {
    if (found == nullptr && each.expired(now)) found = &each;
  });
  return found;
}

TimePoint LaneConnections::next_expiry(TimePoint now) {
  TimePoint next = TimePoint::max();
  up.for_each([&](PooledConnection& each) {
    if (!each.expired(now)) next = std::min(next, each.expires_at());
  });
  return next;
}

void LaneConnections::add_to(PoolStats& stats) {
  stats.connections += up.count();
  stats.connections_making += making.count();
  stats.connections_leaving += leaving.count();
  const auto add = [&stats](PooledConnection& each) {
    count_calls(stats, each);
    stats.calls_in_flight += each.in_flight();
  };
  up.for_each([&](PooledConnection& each) {
    stats.connections_busy += each.in_flight() != 0 ? 1 : 0;
    add(each);
  });
  leaving.for_each(add);
  over.for_each([&stats](PooledConnection& each) {
    if (each.ended_from() != PooledConnection::State::kMaking) count_calls(stats, each);
  });
}

void LaneConnections::destroy_ended(PoolStats& counted) noexcept {
  over.for_each([&](PooledConnection& each) {
    if (each.ended_from() != PooledConnection::State::kMaking) count_calls(counted, each);
  });
  over.clear();
}

void LaneConnections::abandon() noexcept {
  for (PooledConnections* const list : {&up, &leaving, &making}) {
    while (!list->empty()) {
      PooledConnection& connection = list->oldest();
      over.take(connection, *list);
      connection.abandon();
    }
  }
}

}  // namespace weft::detail
