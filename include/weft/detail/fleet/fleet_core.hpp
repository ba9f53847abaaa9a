// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "weft/balancing/outlier_ejection.hpp"
#include "weft/calls/transports.hpp"
#include "weft/coro/event.hpp"
#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/fleet/fleet_member.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/fleet/fleet_options.hpp"
#include "weft/fleet/fleet_stats.hpp"
#include "weft/naming/name_watch.hpp"

namespace weft::detail {

/// The servers of a fleet: the list, whom to call next, and the connections. Calls share it, so that it
/// outlives the client by those that are just being told of its end. Thread: its loop's.
class FleetCore : public std::enable_shared_from_this<FleetCore> {
 public:
  FleetCore(Loop& loop, FleetOptions options, Transports transports);
  ~FleetCore();
  FleetCore(const FleetCore&) = delete;
  FleetCore& operator=(const FleetCore&) = delete;

  Loop& loop() const { return loop_; }
  const FleetOptions& options() const { return options_; }

  /// Ends all calls with kCancelled and closes all connections.
  void close() noexcept;
  /// Returns why no call can be made at all; ok when it can.
  const Status& misuse() const { return misuse_; }

  /// Returns a server with a connection, or null, and then something is under way, or hopeless().
  FleetMember* pick(std::uint64_t key_hash, std::span<const std::uint32_t> tried);
  /// Begins to connect `member`, if nobody has; false while it has no connection.
  bool connect(FleetMember& member);
  /// Returns the servers of the list, in its order.
  std::span<const std::unique_ptr<FleetMember>> members() const { return members_; }
  /// Returns why none of the servers can be reached; ok while one may.
  Status hopeless() const;
  /// Returns what is known of why no call can be made now.
  Status reason() const;
  /// Returns when there is another list, a server has a connection, or could not be reached. Cancel: total.
  Task<Result<void>> changed();

  /// An attempt goes to `member`, which stays until it has ended.
  void begun(FleetMember& member);
  void ended(FleetMember& member, TimePoint since, CallOutcome outcome) noexcept;
  /// `member` stays until release(), without an attempt.
  void retain(FleetMember& member) { ++member.in_flight; }
  void release(FleetMember& member) noexcept;

  /// Takes another attempt from the budget.
  bool try_retry() noexcept;
  void on_call() noexcept {
    ++counted_.calls;
    budget_.on_call();
  }
  FleetStats& counted() { return counted_; }
  FleetStats stats() const noexcept;
  std::vector<FleetEndpointStats> endpoint_stats() const;
  std::uint64_t random() noexcept { return random_.next(); }

  void dial_failed(FleetMember& member) noexcept;

 private:
  struct WatchEnd final : Completion {
    WatchEnd() : Completion{[](Completion&, TaskPromiseBase&) noexcept {}} {}
  };

  /// Begins to watch the name in a turn of the loop: who makes a client may stand outside of one.
  struct Beginning final : Timer {
    explicit Beginning(FleetCore& its) : core(its) {}
    void on_timer() override { core.begin_watching(); }
    FleetCore& core;
  };

  void begin_watching();
  Task<void> watch();
  static Task<void> dial(FleetMember& member);
  void came_up(FleetMember& member) noexcept;
  void is_down(FleetMember& member, Status why) noexcept;
  void set_link(FleetMember& member, FleetMember::Link link) noexcept;
  void take_list(const NameList& list);
  void let_go(std::unique_ptr<FleetMember> member);
  void notify() noexcept;
  FleetMember* any_ready(std::span<const std::uint32_t> tried);

  Loop& loop_;
  FleetOptions options_;
  Transports transports_;
  Status misuse_;
  RandomNumbers random_;
  RetryBudget budget_;
  std::unique_ptr<BalancingPolicy> policy_;
  OutlierEjection* outliers_ = nullptr;
  FleetStats counted_;
  Event changed_;
  std::vector<std::unique_ptr<FleetMember>> members_;
  std::vector<std::unique_ptr<FleetMember>> leaving_;
  std::vector<FleetMember*> ready_;
  std::size_t down_ = 0;
  Status last_failure_;
  bool closed_ = false;
  std::optional<NameWatch> names_;
  WatchEnd watch_end_;
  Beginning beginning_{*this};
  Task<void> watching_;
};

}  // namespace weft::detail
