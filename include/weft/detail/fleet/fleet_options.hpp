// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "weft/detail/balancing/balancing_policy.hpp"
#include "weft/detail/balancing/outlier_options.hpp"
#include "weft/detail/balancing/subset.hpp"
#include "weft/detail/calls/client/pool_options.hpp"
#include "weft/detail/calls/terms/call_options.hpp"
#include "weft/detail/limits/retry_budget.hpp"
#include "weft/detail/naming/name_options.hpp"

namespace weft {

/// Rules by which a fleet makes another attempt at a failed call. A call that certainly did not run is always
/// tried again; a call that may have run, only if it is idempotent.
struct FleetRetry {
  /// Attempts of one call, the first one too; at least 1.
  std::uint32_t attempts_max = 4;
  /// Waits before a server is tried for the second time; the first time has no wait.
  Duration backoff_min = std::chrono::milliseconds{10};
  Duration backoff_max = std::chrono::seconds{1};
  /// Time that one attempt may take; an idempotent call goes to another server then. With kNoTimeout it may
  /// take as long as the call. It is above zero.
  Duration attempt_timeout = kNoTimeout;
  /// Classes of failures that are tried again: connections lost and servers that stop; servers that refuse
  /// for want of room; attempts that took too long.
  bool on_unavailable = true;
  bool on_overload = true;
  bool on_timeout = true;
};

/// Options of a FleetClient. It moves, and does not copy.
struct FleetOptions {
  /// Name of the servers, as watch_name() takes it: "static:tcp://a:1,tcp://b:1", "dns:_kv._tcp.example.org".
  std::string name{};
  NameOptions naming{};
  /// Connections to each server; `client.connect` is the endpoint's and is not read. `retries_max` and
  /// `waits_for_ready` are the fleet's own.
  PoolOptions pool{};
  /// Choice of the server for each call; null: LeastLoaded.
  std::unique_ptr<BalancingPolicy> balancing{};
  /// Rules by which failing servers are left out; nullopt: none except those of `balancing`.
  std::optional<OutlierOptions> outliers = OutlierOptions{};
  /// The fleet uses a few of the servers only; nullopt: all.
  std::optional<SubsetOptions> subset{};
  FleetRetry retry{};
  /// Bound of all further attempts and backups together, but for calls that never left this side.
  RetryBudgetOptions retry_budget{.saved_max = 10'000};
  /// An idempotent call without an answer for so long is made a second time, on another server; the first
  /// answer counts, the other call is cancelled. With zero none is made.
  Duration backup_after = Duration::zero();
  /// True: a call waits until one of the servers is connected, or its own time is over. False: it fails when
  /// no server can be reached, and while there is no list yet as soon as the name could not be looked up.
  /// A fault that no other attempt mends, such as URLs of no known scheme at all servers, is never waited
  /// for.
  bool waits_for_ready = true;
  /// True: after a server refused a call with a time to wait, this fleet does not call the method there until
  /// then, and calls other servers meanwhile. If all of them did so, calls wait for the first, or fail at
  /// once when they have less time. False: only the refused call waits, which suits a client that acts for
  /// several callers, each counted separately by the servers (by_metadata()).
  bool waits_as_told = true;
  /// Seed of the random choices of servers; zero: a different one for each client.
  std::uint64_t seed = 0;
};

/// Options of one call of a fleet. They are trivially copyable, as CallOptions are and for the same reason.
struct FleetCallOptions {
  /// Every attempt has these; the time is that of all attempts together. With `idempotent`, or for
  /// `idempotent<f>`, a call that may have run is tried again.
  CallOptions call{};
  /// Hash of the object of the call (key_hash(text)), for ConsistentHash. Zero: the call needs no particular
  /// server.
  std::uint64_t key_hash = 0;
  /// Replaces FleetOptions::retry for this call; null keeps that one. It must exist until the call has ended.
  const FleetRetry* retry = nullptr;
  /// Replaces FleetOptions::backup_after for this call; a negative value keeps that one. A call with a
  /// landing or a progress has none.
  Duration backup_after{-1};
};

}  // namespace weft
