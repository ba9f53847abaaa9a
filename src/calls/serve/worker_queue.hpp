// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "calls/terms/refusals.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/serve/served_call.hpp"
#include "weft/detail/limits/service_time.hpp"

namespace weft::detail {

struct MethodEntry;

/// Blocking calls that wait for a worker: each connection's in their order of arrival, and the connections in
/// turn, so that a connection with many calls does not delay one with few. Limits the number of waiting
/// calls, and of waiting and running calls of one method. Calls that an idle worker is about to take do not
/// count as waiting. Not thread-safe.
class WorkerQueue {
 public:
  /// `workers` is how many calls run at the same time, as far as their methods let them.
  WorkerQueue(std::size_t calls_max, std::size_t workers) : calls_max_(calls_max), workers_(workers) {}

  /// Takes `call`, or returns a refusal with the expected wait for a place. When all places are taken, and
  /// its connection holds less than its share of them, the oldest call of a connection that holds more is
  /// removed: `gone`, otherwise null. Throws std::bad_alloc, and has not taken the call then.
  std::optional<Refusal> add(ServedCall& call, ServedCall*& gone);
  /// Refusal of a call for which all places of the queue are taken.
  Refusal refusal() const;
  /// Returns the next call that may run, or null; counts it as running for its method until ended().
  ServedCall* next(TimePoint now);
  /// A call that next() gave runs no longer. True when another of its method may now run that could not
  /// before.
  bool ended(const MethodEntry& method, TimePoint now);
  /// Sets how many of the running calls wait for calls of their own: other workers run in their place.
  void workers_wait(std::size_t count) { waiting_workers_ = count; }
  /// Takes `call` out. False when it does not wait here any more.
  bool remove(ServedCall& call);

 private:
  struct LaneTag;
  /// The waiting calls of one connection.
  struct Lane : ListHook<LaneTag> {
    IntrusiveList<ServedDetails, WorkerQueueTag> calls;
    std::size_t count = 0;
  };
  /// Calls of a method that has limits of its own.
  struct Load {
    std::uint32_t running = 0;
    std::uint32_t waiting = 0;
    ServiceTime time{};
  };

  ServedCall* find_next();
  bool may_run(const MethodEntry& method);
  bool is_full_for(const MethodEntry& method, const Load* load) const;
  bool make_place(const Lane& lane, ServedCall*& gone);
  bool has_place(const MethodEntry& method, const Load& load) const;
  std::size_t idle_workers() const;
  /// Number of calls that wait, of `method` or of all, and that the limits of their methods would let run.
  static std::size_t runnable(const MethodEntry& method, const Load& load);
  std::size_t count_runnable() const;
  Refusal refusal_of_method(const MethodEntry& method, const Load& load) const;
  void leave(Lane& lane, ServedCall& call);

  const std::size_t calls_max_;
  const std::size_t workers_;
  std::size_t calls_ = 0;
  std::size_t running_ = 0;
  std::size_t waiting_workers_ = 0;
  ServiceTime time_;
  std::unordered_map<std::uint64_t, Lane> lanes_;
  /// Lanes with calls; the first is next.
  IntrusiveList<Lane, LaneTag> turns_;
  std::unordered_map<const MethodEntry*, Load> loads_;
};

}  // namespace weft::detail
