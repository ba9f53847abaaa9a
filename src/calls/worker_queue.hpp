// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>

#include "calls/refusals.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/served_call.hpp"
#include "weft/detail/limits/service_time.hpp"

namespace weft::detail {

struct MethodEntry;

/// Blocking calls that wait for a worker: each connection's in the order in which they came, and the
/// connections in turn, so that who waits with many is not served before who waits with few. Bounds how many
/// wait, and how many of one method wait and run. Those that a worker without work is about to take do not
/// count as waiting. Not for several threads at once.
class WorkerQueue {
 public:
  /// `workers` is how many calls run at the same time, as far as their methods let them.
  WorkerQueue(std::size_t calls_max, std::size_t workers) : calls_max_(calls_max), workers_(workers) {}

  /// Takes `call`, or says why there is no place, and how long it may be until there is one. When all places
  /// are taken, and its connection has less than its share of them, the oldest call of a connection that has
  /// more than that goes: `gone`, else null. Throws std::bad_alloc, and has taken nothing then.
  std::optional<Refusal> add(ServedCall& call, ServedCall*& gone);
  /// Refusal of a call for which all places of the queue are taken.
  Refusal refusal() const;
  /// The next call that may run, or null; counts it among those of its method that run until ended().
  ServedCall* next(TimePoint now);
  /// A call that next() gave runs no longer. True when another of its method may now run that could not
  /// before.
  bool ended(const MethodEntry& method, TimePoint now);
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
  ServiceTime time_;
  std::unordered_map<std::uint64_t, Lane> lanes_;
  /// Lanes with calls; the first is next.
  IntrusiveList<Lane, LaneTag> turns_;
  std::unordered_map<const MethodEntry*, Load> loads_;
};

}  // namespace weft::detail
