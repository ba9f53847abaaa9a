// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "calls/serve/connection_totals.hpp"
#include "calls/terms/call_times.hpp"
#include "calls/terms/id_table.hpp"
#include "calls/terms/method_counters.hpp"
#include "calls/terms/refusals.hpp"
#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/base/unique_function.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/memory/local_budget.hpp"

namespace weft::detail {

class FaultLog;
class PeerIndex;
class MethodTable;
class CallWorkers;

/// State that all the sessions of one loop share when they serve. Outlives the calls.
struct CallsHost {
  const MethodTable* methods = nullptr;
  CallWorkers* workers = nullptr;
  /// This loop's part of the memory budget of the server or client. The whole budget is shared, because an
  /// attachment may outlive both. Set before anything is served or called.
  std::optional<LocalBudget> memory;
  /// See IdTable.
  std::uint64_t table_secret = new_table_secret();
  /// Records alive, those without a connection too.
  Counter running;
  /// Frames of types that only a later build knows.
  Counter frames_skipped;
  /// Pieces of attachments that were not wanted, or no longer.
  Counter pieces_skipped;
  RefusalCounters refusals;
  MethodCounts calls;
  /// Null where calls are not timed; then MethodTable::put_behind() was told so.
  std::unique_ptr<CallTimes> times;
  ConnectionTotals traffic;
  /// Peers that have tags; null on a client.
  std::shared_ptr<PeerIndex> peers;
  /// Timeout for calls to peers that do not set one; kNoTimeout: none.
  Duration peer_call_timeout = std::chrono::seconds{30};
  /// Null on a client: there the caller gets the failure.
  FaultLog* faults = nullptr;
  /// Calls with a lost connection and a handler that has not ended.
  IntrusiveList<ServedCall, ServedCallTag> orphans;
  /// Called when the last record was freed.
  UniqueFunction<void()> on_idle;
};

}  // namespace weft::detail
