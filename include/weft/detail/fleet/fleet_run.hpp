// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "weft/detail/balancing/balancing_policy.hpp"
#include "weft/detail/calls/terms/attempt_record.hpp"
#include "weft/detail/calls/terms/method_key.hpp"
#include "weft/detail/fleet/fleet_core.hpp"
#include "weft/detail/fleet/fleet_step.hpp"
#include "weft/detail/limits/backoff.hpp"

namespace weft::detail {

/// Returns the name of an option that serves one answer at a time, such as a landing; empty if none is set.
std::string_view option_for_one_answer(const CallOptions& options) noexcept;

/// One call of a fleet: the servers that were tried, and the rest of its time. Lives in the frame of the
/// call, shared by its attempts and its backup.
class FleetRun {
 public:
  /// `scope` is that of the call, may be null.
  FleetRun(std::shared_ptr<FleetCore> core, const MethodKey& method, const FleetCallOptions& options,
           const CancelScope* scope);
  FleetRun(const FleetRun&) = delete;
  FleetRun& operator=(const FleetRun&) = delete;

  FleetCore& core() const { return *core_; }
  const MethodKey& method() const { return method_; }
  /// Returns the options of an attempt that begins now.
  CallOptions attempt_options() const;
  /// Returns the time after which a backup is made; zero: none is.
  Duration backup_after() const;

  /// Returns what to do next: an attempt at a server that is chosen for it, to wait(), or to end.
  FleetStep choose();
  /// Waits until there may be a server to choose. Errors: why there was none, when the call's time is over.
  Task<Result<void>> wait();
  /// Waits until `member` is connected. Errors: why it is not.
  Task<Result<void>> wait_for(FleetMember& member);

  /// True if a call that failed at `member` must be tried again.
  bool wants_another(const FleetMember& member, const Status& failure);
  /// Returns `failure` with the name of the server before its text. A handler's own failure is an answer and
  /// stays unchanged, and so does a cancel, which is not about the server.
  static Status failed_at(const FleetMember& member, const Status& failure) noexcept;
  /// Returns `failure`, the end of the call and of all its attempts: Status::unprocessed() is true if
  /// certainly no attempt ran.
  Status outcome(Status failure) const noexcept { return record_.outcome(std::move(failure)); }
  /// Records that the backup was answered: attempts under way are given up.
  void overtake() noexcept { overtaken_ = true; }
  bool is_overtaken() const noexcept { return overtaken_; }
  /// An attempt at `member` begins, which is not chosen again while there are others.
  void note_attempt(const FleetMember& member) noexcept;
  /// An attempt has ended with `outcome`.
  void note_end(const Status& outcome) noexcept { record_.add(outcome); }
  /// An attempt was dropped before its end.
  void note_dropped() noexcept { record_.add_abandoned(); }

 private:
  Task<Result<void>> wait_until(TimePoint at, bool for_change);
  bool is_expired() const { return deadline_.expired(core_->loop().now()); }
  Status out_of_time() const;
  static Status out_of_time_for(const FleetMember& member);
  /// The failure of a call that does not wait as long as `who`, in text up to the fleet's name, requested.
  Status told_to_wait(std::string_view who, Duration wait) const;

  std::shared_ptr<FleetCore> core_;
  const MethodKey& method_;
  FleetCallOptions options_;
  const FleetRetry& retry_;
  Deadline deadline_;
  Backoff backoff_;
  Duration wait_{};
  Duration retry_after_{};
  /// End of the time in which the call waits for the server that the policy picked, rather than take one that
  /// may hang.
  TimePoint patient_until_ = TimePoint::max();
  /// Wait is for the first server that may be asked again, or another that comes up meanwhile.
  bool waits_as_told_ = false;
  bool overtaken_ = false;
  AttemptRecord record_;
  std::uint64_t lists_ = 0;
  Status misuse_;
  /// Failure of the last attempt that was followed by another one.
  Status failure_;
  std::uint32_t attempts_ = 0;
  std::uint32_t tried_count_ = 0;
  bool idempotent_;
  std::array<std::uint32_t, kTriedMax> tried_{};
};

/// One attempt of a call at one server, from its begin to its end or until it is dropped.
class FleetAttempt {
 public:
  FleetAttempt(FleetRun& run, FleetMember& member);
  FleetAttempt(const FleetAttempt&) = delete;
  FleetAttempt& operator=(const FleetAttempt&) = delete;
  ~FleetAttempt();

  /// Tells the policy how it ended. The member stays until the attempt itself is gone.
  void end(const Status& outcome) noexcept;

 private:
  bool is_told_already(const Status& outcome) noexcept;
  void report(CallOutcome outcome, bool timed_out = false) noexcept;

  FleetCore& core_;
  FleetRun& run_;
  FleetMember& member_;
  TimePoint since_;
  bool reported_;
  bool ended_ = false;
};

}  // namespace weft::detail
