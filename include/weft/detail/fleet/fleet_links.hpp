// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/fleet/fleet_choice.hpp"
#include "weft/detail/fleet/fleet_member.hpp"

namespace weft::detail {

/// Connections of a fleet's members, created on request and then maintained. Thread: the loop's.
class FleetLinks {
 public:
  /// `choice` is notified when a connection comes up or goes down. `options` are for the pool of each member.
  FleetLinks(Loop& loop, FleetChoice& choice, PoolOptions options, Transports transports);
  FleetLinks(const FleetLinks&) = delete;
  FleetLinks& operator=(const FleetLinks&) = delete;

  const PoolOptions& options() const noexcept { return options_; }

  /// Lets each member's server call a method, over each connection to it. Before the first connect(). `owner`
  /// is kept as long as the handler may run. Throws std::bad_alloc.
  void serve(const MethodEntry& entry, std::shared_ptr<void> owner);
  /// Makes room for `members` members. Throws std::bad_alloc, without a change.
  void reserve(std::size_t members) { ready_.reserve(members); }
  /// Starts to connect `member`, unless that was done before; false while it has no connection, also for want
  /// of memory.
  bool connect(FleetMember& member) noexcept;
  /// Stops to connect `member`, which is not to be asked any more. Its calls go on.
  void forget(FleetMember& member) noexcept;
  /// Stops connecting members.
  void close() noexcept { closed_ = true; }
  /// Drops the pool of `member`.
  void disconnect(FleetMember& member) noexcept;

  bool is_up(const FleetMember& member) const noexcept {
    return member.link == FleetMember::Link::kReady && member.pool != nullptr && member.pool->connected();
  }
  /// Says whether `member` may be asked and had a connection that it has no more.
  bool was_lost(const FleetMember& member) const noexcept {
    return member.link == FleetMember::Link::kReady && member.is_used() && !is_up(member);
  }
  /// Members that had a connection when it was last looked for.
  std::span<FleetMember* const> ready() const noexcept { return {ready_.data(), ready_.size()}; }
  /// Number of members whose last connection attempt failed, including attempts that will always fail.
  std::size_t down() const noexcept { return down_; }
  std::size_t refused() const noexcept { return refused_; }

  /// Set briefly with each change, to wake its waiters.
  Event& changed() noexcept { return changed_; }
  void notify() noexcept;
  /// Returns how often that has happened.
  std::uint64_t changes() const noexcept { return changes_; }

 private:
  friend struct FleetMember::DialEnd;
  struct Handler {
    MethodEntry entry;
    std::shared_ptr<void> owner;
  };

  std::unique_ptr<CallPool> make_pool(const FleetMember& member);
  static Task<void> dial(FleetMember& member);
  void dial_failed(FleetMember& member) noexcept;
  void came_up(FleetMember& member) noexcept;
  void is_down(FleetMember& member, Status why) noexcept;
  void set_link(FleetMember& member, FleetMember::Link link) noexcept;

  Loop& loop_;
  FleetChoice& choice_;
  PoolOptions options_;
  Transports transports_;
  std::vector<Handler> handlers_;
  bool has_pools_ = false;
  bool closed_ = false;
  Event changed_;
  std::uint64_t changes_ = 0;
  std::vector<FleetMember*> ready_;
  std::size_t down_ = 0;
  std::size_t refused_ = 0;
};

}  // namespace weft::detail
