// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "weft/detail/coro/task.hpp"
#include "weft/detail/fleet/fleet_list.hpp"
#include "weft/detail/fleet/fleet_options.hpp"
#include "weft/detail/fleet/fleet_stats.hpp"
#include "weft/detail/naming/name_watch.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// Watch of a fleet's name, whose lists go to FleetList. A watch or a list for which there is no memory is
/// tried again. Thread: its loop's, but for the constructor.
class FleetNames {
 public:
  /// All of them outlive it. `options` say the name.
  FleetNames(Loop& loop, const FleetOptions& options, FleetList& list, FleetLinks& links,
             FleetStats& counted);
  ~FleetNames() { close(); }
  FleetNames(const FleetNames&) = delete;
  FleetNames& operator=(const FleetNames&) = delete;

  /// Begins to watch, inside a turn.
  void begin() noexcept;
  void close() noexcept;
  /// Returns why the name means nothing; ok when it does, or when nothing is known.
  const Status& misuse() const noexcept { return misuse_; }
  /// Returns the reason why the name brings nothing new, or why its list was refused; ok without either.
  Status last_failure() const noexcept;

 private:
  struct WatchEnd final : Completion {
    explicit WatchEnd(FleetNames& its) : Completion{&ended}, names(its) {}
    static void ended(Completion& self, TaskPromiseBase& task) noexcept;
    FleetNames& names;
  };

  /// Another try, when there was no memory for the one before.
  struct Beginning final : Timer {
    explicit Beginning(FleetNames& its) : names(its) {}
    void on_timer() override { names.begin(); }
    FleetNames& names;
  };

  /// False when the name means nothing. Throws std::bad_alloc.
  bool find_watch();
  Task<void> watch();
  bool take(const NameList& list) noexcept;
  /// Keeps and logs why a list was not taken.
  void refuse(Status why) noexcept;

  Loop& loop_;
  const FleetOptions& options_;
  FleetList& list_;
  FleetLinks& links_;
  FleetStats& counted_;
  Status misuse_;
  Status refusal_;
  std::optional<NameWatch> names_;
  WatchEnd watch_end_{*this};
  Beginning beginning_{*this};
  Task<void> watching_;
};

}  // namespace weft::detail
