// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <weft/detail/transport/simulated_network.hpp>

namespace weft::fleet {

using namespace std::chrono_literals;

/// A fleet and its load. Each client belongs to one server, the clients evenly spread over these, and makes
/// one call at a time.
struct Plan {
  std::size_t servers = 10;
  std::size_t clients = 100;
  /// Beginning of all that is random.
  std::uint64_t seed = 1;
  /// Mean time between the end of a client's call and its next one, exponentially distributed.
  Duration think = 10s;
  /// Time that a call takes one of the server's workers; zero: none.
  Duration work{};
  std::size_t workers = 4;
  /// ServerOptions::calls_running_max.
  std::size_t calls_running_max = 0;
  Duration call_timeout = 2s;
  Duration connect_timeout = 5s;
  Duration ping_interval = 10s;
  /// Both directions of each host's link.
  SimulatedLink link{.latency = 250us};
};

}  // namespace weft::fleet
