// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "weft/detail/fleet/fleet_choice.hpp"
#include "weft/detail/fleet/fleet_links.hpp"
#include "weft/detail/fleet/fleet_member.hpp"
#include "weft/detail/naming/endpoint.hpp"

namespace weft::detail {

/// Members of a fleet: members of the list, and former members that are still held. Thread: the loop's.
class FleetList {
 public:
  FleetList(FleetChoice& choice, FleetLinks& links) : choice_(choice), links_(links) {}
  FleetList(const FleetList&) = delete;
  FleetList& operator=(const FleetList&) = delete;

  /// Lets the servers of this list and of following lists call a method. See FleetLinks::serve().
  void serve(const MethodEntry& entry, std::shared_ptr<void> owner) { links_.serve(entry, std::move(owner)); }
  /// Replaces the list; connections to servers that stay are kept. Costs O(n log n). Errors: those of
  /// BalancingPolicy::set_endpoints(), without a change. Throws std::bad_alloc; the members stay as before,
  /// and no server can be picked until a list is taken.
  Status take(const NameList& list, TimePoint now);

  /// Returns the servers of the list, in its order.
  std::span<const std::unique_ptr<FleetMember>> members() const noexcept { return members_; }
  /// Returns how many of them may be asked.
  std::size_t used() const noexcept { return choice_.used(); }
  std::size_t leaving() const noexcept { return leaving_.size(); }
  /// Ends the calls of all with kCancelled, also inside a callback. The records and their pools stay.
  void close() noexcept;
  /// Drops the pools of all members. The records stay for their holders.
  void disconnect() noexcept;

  /// `member` stays until release().
  void retain(FleetMember& member) noexcept { ++member.holds; }
  void release(FleetMember& member) noexcept;

 private:
  void let_go(std::unique_ptr<FleetMember> member) noexcept;

  FleetChoice& choice_;
  FleetLinks& links_;
  std::vector<std::unique_ptr<FleetMember>> members_;
  std::vector<std::unique_ptr<FleetMember>> leaving_;
};

}  // namespace weft::detail
