// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "plan.hpp"
#include "side_channel.hpp"
#include "stopwatch.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/ucx.hpp"

namespace weft::bench {

/// One side of a test: its worker, connected with the other side's, and the memory that both use.
struct Station {
  /// Agrees with the other side by `channel` on the addresses.
  Station(const Plan& agreed, bool server, SideChannel side_channel);

  Plan plan;
  bool serves;
  SideChannel channel;
  std::unique_ptr<Loop> loop;
  std::shared_ptr<ucx::Context> context;
  std::unique_ptr<ucx::Worker> worker;
  ucx::Endpoint peer;
  ucx::Memory out;
  ucx::Memory in;
  /// Memory that the other side puts to and gets from; the peer's is found by `key` and `peer_address`.
  std::optional<ucx::MemoryRegion> region;
  std::optional<ucx::RemoteKey> key;
  std::uint64_t peer_address = 0;
};

inline constexpr std::uint64_t kTag = 0x77656674;
inline constexpr std::uint16_t kAmId = 1;

/// One run of `iterations`, on both sides at the same time. `watch` is begun when both are there, and ended
/// when everything that this side issued is done.
void run_coroutines(Station& station, std::uint64_t iterations, Stopwatch& watch);
void run_plain_calls(Station& station, std::uint64_t iterations, Stopwatch& watch);

/// The share of a processor that this side takes while both sleep.
double measure_idle(Station& station);

}  // namespace weft::bench
