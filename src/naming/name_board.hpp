// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "naming/judged_list.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/coro/event.hpp"
#include "weft/detail/coro/task.hpp"
#include "weft/detail/naming/endpoint.hpp"
#include "weft/detail/naming/name_options.hpp"
#include "weft/detail/runtime/deferred_log.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

/// Holds the last good list of one name: judges the answers of its source, or takes judged ones, counts and
/// reports faults, and wakes the waiters for changes. The waiters share it, so it may outlive its watch.
/// Thread: its loop's.
class NameBoard final : private Timer {
 public:
  NameBoard(Loop& loop, std::string_view name, const NameOptions& options);
  ~NameBoard() = default;

  const Loop& loop() const noexcept { return loop_; }
  const NameOptions& options() const noexcept { return options_; }
  NameSnapshot list() const noexcept { return list_; }
  Status last_failure() const noexcept { return failure_; }
  const NameWatchStats& stats() const noexcept { return stats_; }

  NameLimits limits() const noexcept { return NameLimits{options_}; }

  /// Takes the answer of a source: makes it the list, now or when the change interval has passed, or refuses
  /// it. The cost does not depend on the length of the list.
  void take(JudgedList list);
  /// Judges an answer that is short, and takes it.
  void answer(std::vector<Endpoint> endpoints);
  /// An answer that could not be read, or was beyond a limit (kResourceExhausted).
  void refuse(const Status& why);
  /// An attempt that had no answer.
  void fail(const Status& why);
  /// Ends all waits; nothing is published any more.
  void close() noexcept;

  static Task<Result<NameSnapshot>> changed(std::shared_ptr<NameBoard> board, std::uint64_t seen);

 private:
  void on_timer() override;
  void publish(JudgedList list);
  void skip(const JudgedList& list);
  void report(const Status& why);

  Loop& loop_;
  const std::string name_;
  const NameOptions options_;
  NameSnapshot list_ = std::make_shared<const NameList>();
  std::optional<JudgedList> held_;
  TimePoint next_change_ = TimePoint::min();
  Status failure_;
  Event event_;
  DeferredLog log_;
  NameWatchStats stats_;
  bool closed_ = false;
};

}  // namespace weft::detail
