// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/memory/chunk_pool.hpp"

namespace weft {

class Clock;

/// Behaviour of a loop that has nothing to do.
enum class WaitMode : std::uint8_t {
  kBusy,      ///< asks again at once, always: the lowest latency, a whole core
  kAdaptive,  ///< asks again for LoopOptions::spin after the last activity, then sleeps
  kWait,      ///< sleeps at once
};

/// Interface by which a loop watches descriptors.
enum class PollerKind : std::uint8_t {
  kAuto,     ///< epoll: io_uring's poll measured as a tie, and epoll is there on every kernel
  kEpoll,    ///< epoll
  kIoUring,  ///< io_uring's multishot poll; epoll when the kernel refuses a ring (Loop::poller_kind() says)
};

std::string_view to_string(WaitMode mode);
std::string_view to_string(PollerKind kind);

struct LoopOptions {
  PollerKind poller = PollerKind::kAuto;
  WaitMode mode = WaitMode::kAdaptive;
  /// Time for which an adaptive loop asks again before it sleeps.
  Duration spin = std::chrono::microseconds{50};
  /// Null: the system's monotonic clock. Must outlive the loop.
  Clock* clock = nullptr;
  detail::ChunkPoolOptions chunks{};
  /// Number of ready coroutines that run before the loop looks at descriptors and timers again, in one turn
  /// or in several quick ones. Above zero.
  std::size_t turn_budget = 4096;
  /// Beginning of the loop's random numbers. Zero: the system chooses; with a clock that does not advance
  /// by itself they are the same in each run.
  std::uint64_t seed = 0;
};

/// Counters of a loop since it was made, for tests and for people.
struct LoopStats {
  std::uint64_t turns = 0;
  /// Number of quick turns; see Loop.
  std::uint64_t quick_turns = 0;
  /// Questions to the kernel that could not block.
  std::uint64_t polls = 0;
  /// Questions to the kernel that could.
  std::uint64_t sleeps = 0;
  /// Writes that other threads did to wake it.
  std::uint64_t wakeups = 0;
  /// Reports of descriptors to their watches.
  std::uint64_t reports = 0;
  /// Time in turns without the time asleep, since a server on the loop got its first connection. It includes
  /// the present turn.
  Duration busy{};
};

namespace detail {

/// The counters that a loop changes; read on any thread.
struct LoopCounters {
  Counter turns;
  Counter quick_turns;
  Counter polls;
  Counter sleeps;
  Counter reports;
};

}  // namespace detail

}  // namespace weft
