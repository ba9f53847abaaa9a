// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "weft/detail/base/random_numbers.hpp"
#include "weft/detail/fleet/fleet_list.hpp"
#include "weft/detail/fleet/fleet_names.hpp"
#include "weft/detail/fleet/fleet_options.hpp"
#include "weft/detail/fleet/fleet_stats.hpp"
#include "weft/detail/fleet/ready_search.hpp"

namespace weft::detail {

/// The servers of a fleet, and the choice of the next one. Calls share it, so that it outlives the client
/// until these have received its end. Thread: the loop's, except for the constructor.
class FleetCore : public std::enable_shared_from_this<FleetCore> {
 public:
  FleetCore(Loop& loop, FleetOptions options, Transports transports);
  ~FleetCore();
  FleetCore(const FleetCore&) = delete;
  FleetCore& operator=(const FleetCore&) = delete;

  Loop& loop() const { return loop_; }
  const FleetOptions& options() const { return options_; }
  const PoolOptions& pool_options() const { return links_.options(); }

  /// Begins to watch the name, inside a turn.
  void begin() noexcept;
  /// Ends the process, with words, on a thread that must leave the fleet alone.
  void check_thread() const noexcept;
  /// Ends all calls with kCancelled and closes all connections, also inside a callback. Inside a turn the
  /// fleet is kept until nothing of it is on the stack.
  void close() noexcept;
  /// Returns why no call can be made at all; ok when it can.
  const Status& misuse() const { return misuse_.ok() ? names_.misuse() : misuse_; }

  /// Returns a server with a connection; null when there is none now. Then hopeless() tells whether there can
  /// ever be one, and `quiet_until` is in the future when all servers refuse `method` until then. While the
  /// picked server is being connected, a trusted server takes its place; without one `dialing` is set, and
  /// the call should wait, unless `patience` is false, which accepts any server.
  FleetMember* pick(std::uint64_t method, std::uint64_t key_hash, std::span<const std::uint32_t> tried,
                    bool patience, bool& dialing, TimePoint& quiet_until) noexcept;
  /// Records the pause that the server requested when it refused `method` by `failure`. Returns true if it
  /// requested one.
  bool told(FleetMember& member, std::uint64_t method, const Status& failure) noexcept;
  /// Starts to connect `member`, unless that was done before; false while it cannot be called.
  bool connect(FleetMember& member) noexcept { return choice_.usable() && links_.connect(member); }
  FleetList& list() noexcept { return list_; }
  /// Returns the reason if no server can be reached; ok while one may be.
  Status hopeless() const;
  /// Returns the known reason why no call can be made now.
  Status reason() const;
  /// Returns when there is another list, a server has a connection, or could not be reached. Cancel: total.
  Task<Result<void>> changed();

  /// Records that an attempt goes to `member`, which stays until the attempt has ended. Returns the value for
  /// the parameter `reported` of ended().
  bool begun(FleetMember& member, TimePoint now) noexcept;
  void ended(FleetMember& member, bool reported, const CallReport& report) noexcept;

  /// Takes another attempt from the budget.
  bool try_retry() noexcept;
  void on_call() noexcept {
    check_thread();
    ++counted_.calls;
    budget_.on_call();
  }
  FleetStats& counted() { return counted_; }
  FleetStats stats() const noexcept;
  /// Returns the number of servers that pick() has considered beyond those from the policy.
  std::uint64_t looks() const noexcept { return search_.looks(); }
  std::vector<FleetEndpointStats> endpoint_stats() const;
  std::uint64_t random() noexcept { return random_.next(); }
  /// Returns `wait` plus up to a quarter, because many callers may have received the same wait.
  Duration spread(Duration wait) noexcept;

 private:
  class Ending;

  /// Ends what may be on the stack when the fleet is closed: watching the name, and connecting.
  void disconnect() noexcept;

  Loop& loop_;
  FleetOptions options_;
  Status misuse_;
  RandomNumbers random_;
  RetryBudget budget_;
  FleetStats counted_;
  FleetChoice choice_;
  FleetLinks links_;
  ReadySearch search_{choice_, links_};
  FleetList list_{choice_, links_};
  bool closed_ = false;
  /// Null once the fleet was closed, which it is without a need for memory.
  std::unique_ptr<Ending> ending_;
  FleetNames names_{loop_, options_, list_, links_, counted_};
};

}  // namespace weft::detail
