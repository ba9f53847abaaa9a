// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft {

/// A RetryBudget takes the nearest number in range, and the default for NaN. Pools and fleets refuse such
/// options by name.
struct RetryBudgetOptions {
  /// Retries that each call pays for; from 0 to 10.
  double share_of_calls = 0.2;
  /// Retries per second that are available even without calls; from 0 to 1e6.
  double floor_per_second = 10;
  /// Maximum number of saved retries, which is the largest burst after a quiet time; at least 1.
  double saved_max = 100;
};

/// Limit for all retries of a client together, so that retries do not overwhelm a server in trouble: in any
/// time t in which `calls` begin there are at most `saved_max` + `share_of_calls` * calls +
/// `floor_per_second` * t retries.
///
/// A service with 100 calls a second that fails completely gets 100 + 20 + 10 requests a second, regardless
/// of the number of attempts per call. Source: RetryBudget of Finagle, and the Site Reliability Engineering
/// book (Beyer et al., 2016), chapter 21. Takes no memory. Thread: one at a time.
class RetryBudget {
 public:
  RetryBudget(RetryBudgetOptions options, TimePoint now) noexcept;

  /// Counts a call that begins for the first time.
  void on_call() noexcept { on_calls(1); }
  /// Counts `calls` new calls, without retries.
  void on_calls(std::uint64_t calls) noexcept;
  /// Takes one retry; false when the budget is spent, and then the failure goes to the caller as it is.
  bool try_retry(TimePoint now) noexcept;
  /// Returns the number of retries available at `now`.
  double available(TimePoint now) const noexcept;

 private:
  RetryBudgetOptions options_;
  double saved_;
  TimePoint at_;
};

}  // namespace weft
