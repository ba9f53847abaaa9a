// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>
#include <weft/detail/coro/scope.hpp>
#include <weft/detail/fleet/fleet_client.hpp>
#include <weft/detail/runtime/loop.hpp>

#include "load/histogram.hpp"
#include "load/schedule.hpp"

namespace weft::churn {

/// Function that the servers serve.
std::uint32_t twice(std::uint32_t number);
inline constexpr auto twice_again = idempotent<twice>;

/// Calls of one kind of time: undisturbed, or while servers go and come.
struct Outcomes {
  std::uint64_t begun = 0;
  std::uint64_t answered = 0;
  std::uint64_t failed = 0;
  /// Nanoseconds from when a call was meant to begin.
  load::Histogram latencies;
  /// The first failure.
  std::string failure;
};

/// Idempotent calls of a fleet, evenly at a rate whatever becomes of them, or by callers that each wait for
/// their answer. Thread: the loop's, but for what says otherwise.
class ChurnLoad {
 public:
  /// `outcomes` kinds of time.
  ChurnLoad(FleetClient& fleet, std::size_t outcomes) : fleet_(fleet), outcomes_(outcomes) {}

  /// Begins calls at `rate` per second, until stop().
  void call_at(double rate) { scope_.spawn(&ChurnLoad::pace, this, rate); }
  /// Lets `callers` call again and again, until stop().
  void call_by(std::size_t callers);
  /// Calls that begin from now on count for `kind`. Any thread.
  void set_kind(std::size_t kind) { kind_.store(kind, std::memory_order_relaxed); }
  /// No call begins any more. Any thread.
  void stop() { stopped_.store(true, std::memory_order_relaxed); }
  /// Blocks until `more` calls have ended, well or not. Not the loop's thread.
  void blocking_wait_for(std::uint64_t more) const;
  /// Waits until all have ended.
  Task<void> join();
  const Outcomes& outcomes(std::size_t kind) const { return outcomes_[kind]; }

 private:
  static Task<void> pace(ChurnLoad* load, double rate);
  static Task<void> call_once(ChurnLoad* load, std::size_t kind, std::int64_t meant_at_ns);
  static Task<void> call_on(ChurnLoad* load);
  bool stopped() const { return stopped_.load(std::memory_order_relaxed); }

  FleetClient& fleet_;
  std::vector<Outcomes> outcomes_;
  std::atomic<std::size_t> kind_{0};
  std::atomic<bool> stopped_{false};
  std::atomic<std::uint64_t> ended_{0};
  std::uint32_t number_ = 0;
  Scope scope_;
};

}  // namespace weft::churn
