// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "calls/client/client_host.hpp"
#include "calls/client/pool_lane.hpp"
#include "weft/detail/calls/call/call_target.hpp"
#include "weft/detail/calls/client/pool_options.hpp"
#include "weft/detail/calls/terms/transports.hpp"
#include "weft/detail/limits/retry_budget.hpp"
#include "weft/detail/runtime/late_end.hpp"

namespace weft::detail {

/// The implementation of a pool: chooses the lane of each call, and decides which calls begin again. Thread:
/// the loop's.
class PoolCore final : public CallTarget, private PoolLaneOwner, private LateEnd {
 public:
  PoolCore(Loop& loop, PoolOptions options, Transports transports);
  /// Outside of all callbacks; elsewhere end() does it.
  ~PoolCore() override { close(); }
  PoolCore(const PoolCore&) = delete;
  PoolCore& operator=(const PoolCore&) = delete;

  void withdraw(PendingCall& call) noexcept override { lane_of(call).withdraw(call); }
  Status why_waiting() const noexcept override { return shared_.last_failure; }
  bool may_begin_again(const PendingCall& call, const Status& failure) noexcept override;
  void take_again(PendingCall& call) noexcept override { lane_of(call).take_again(call); }

  void add_connect_waiter(ConnectWaiter& waiter);
  /// Ends all calls and connections now, also inside a callback of theirs.
  void close();
  /// Calls close(), and then destroys the core, which owns itself.
  void end() noexcept;

  const PoolOptions& options() const { return options_; }
  /// Host of the handlers that its connections serve; one for all of them.
  ClientHost& host() { return *host_; }
  bool ready() const { return small_.is_up(); }
  Result<MemoryLease> register_memory(MutableBytes memory) const {
    return transports_.register_memory({&options_.client.connect, 1}, memory);
  }
  PoolStats stats() const noexcept;

 private:
  Begun begin_without_session(PendingCall& call, std::size_t body_bytes) override;
  void on_open_session(PoolLane& lane, Session* session) override;
  PoolLane& lane_of(const PendingCall& call);
  /// Tells the budget of the calls that were begun since the last time.
  void count_for_budget() noexcept;
  Logger& logger() const {
    return options_.client.logger != nullptr ? *options_.client.logger : stderr_logger();
  }

  const Transports transports_;
  const PoolOptions options_;
  OwnedClientHost host_;
  PoolShared shared_;
  std::optional<RetryBudget> budget_;
  /// Number of calls reported to the budget.
  std::uint64_t budgeted_ = 0;
  TimePoint budgeted_at_{};
  bool closed_ = false;
  PoolLane small_;
  PoolLane bulk_;
};

}  // namespace weft::detail
