// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "weft/detail/coro/task.hpp"
#include "weft/detail/fleet/fleet_list.hpp"
#include "weft/detail/fleet/fleet_stats.hpp"
#include "weft/detail/naming/name_watch.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// Watch of a fleet's name, whose lists go to FleetList. A list for which there is no memory is tried again.
/// Thread: its loop's.
class FleetNames {
 public:
  /// All of them outlive it.
  FleetNames(Loop& loop, FleetList& list, FleetLinks& links, FleetStats& counted);
  ~FleetNames() { close(); }
  FleetNames(const FleetNames&) = delete;
  FleetNames& operator=(const FleetNames&) = delete;

  /// Begins in the loop's next turn. Errors: those of watch_name().
  Status begin(std::string_view name, const NameOptions& options);
  void close() noexcept;
  /// Returns why the name gives nothing new; ok when it does, or when nothing is known.
  Status last_failure() const noexcept { return names_ ? names_->last_failure() : Status{}; }

 private:
  struct WatchEnd final : Completion {
    explicit WatchEnd(FleetNames& its) : Completion{&ended}, names(its) {}
    static void ended(Completion& self, TaskPromiseBase& task) noexcept;
    FleetNames& names;
  };

  /// A turn of the loop: who makes a client may stand outside of one.
  struct Beginning final : Timer {
    explicit Beginning(FleetNames& its) : names(its) {}
    void on_timer() override { names.begin_watching(); }
    FleetNames& names;
  };

  void begin_watching() noexcept;
  Task<void> watch();
  bool take(const NameList& list) noexcept;

  Loop& loop_;
  FleetList& list_;
  FleetLinks& links_;
  FleetStats& counted_;
  Logger* logger_ = nullptr;
  std::optional<NameWatch> names_;
  WatchEnd watch_end_{*this};
  Beginning beginning_{*this};
  Task<void> watching_;
};

}  // namespace weft::detail
