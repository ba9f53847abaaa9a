// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "weft/detail/base/time.hpp"

namespace weft {

/// Counters of a fleet as a whole, since it was made.
struct FleetStats {
  std::size_t endpoints = 0;          ///< servers of the list now
  std::size_t ready = 0;              ///< of those, with a connection
  std::size_t ejected = 0;            ///< of those, left out by FleetOptions::outliers
  std::size_t leaving = 0;            ///< servers that left the list and have calls in flight
  std::size_t calls_in_flight = 0;    ///< attempts under way now
  std::uint64_t lists = 0;            ///< lists that were taken over
  std::uint64_t lists_refused = 0;    ///< lists that were longer than kEndpointsMax; the last good one stays
  std::uint64_t calls = 0;            ///< calls, with any outcome
  std::uint64_t attempts = 0;         ///< requests that were given to a server's connections
  std::uint64_t retries = 0;          ///< attempts after the first of a call
  std::uint64_t retries_refused = 0;  ///< attempts and backups that there would have been but for the budget
  std::uint64_t waits_told = 0;       ///< waits of calls since all servers had asked to be left alone
  std::uint64_t backups = 0;          ///< calls that were made a second time
  std::uint64_t backups_won = 0;      ///< of those, answered by the backup first
};

/// One server of a fleet.
struct FleetEndpointStats {
  std::string url;
  bool ready = false;          ///< it has a connection
  bool ejected = false;        ///< FleetOptions::outliers leaves it out
  std::uint64_t picks = 0;     ///< attempts that went to it
  std::uint64_t failures = 0;  ///< of those, failed by its fault
  std::size_t in_flight = 0;   ///< attempts under way now
  Duration latency{};          ///< of answers, averaged over the last eight or so; zero: none yet
};

}  // namespace weft
