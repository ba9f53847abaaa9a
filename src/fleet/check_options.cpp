// SPDX-License-Identifier: Apache-2.0
#include "fleet/check_options.hpp"

#include <string>
#include <string_view>

namespace weft::detail {

namespace {

Status bad(std::string_view option, std::string_view why) {
  Status failure{StatusCode::kInvalidArgument, Layer::kRpc,
                 [&] { return std::string{option} + ' ' + std::string{why}; }};
  failure.mark_unprocessed();
  return failure;
}

/// False for NaN.
bool is_within(double value, double least, double most) {
  return value >= least && value <= most;
}

Status check(const OutlierOptions& outliers) {
  const Duration zero = Duration::zero();
  if (outliers.window <= zero) return bad("OutlierOptions::window", "is not above zero");
  if (outliers.window_calls_min == 0) return bad("OutlierOptions::window_calls_min", "is zero");
  if (outliers.ejection_min <= zero) return bad("OutlierOptions::ejection_min", "is not above zero");
  if (outliers.ejection_max < outliers.ejection_min) {
    return bad("OutlierOptions::ejection_max", "is below ejection_min");
  }
  if (outliers.slow_start <= zero) return bad("OutlierOptions::slow_start", "is not above zero");
  if (!is_within(outliers.failure_share, 0, 1e9))
    return bad("OutlierOptions::failure_share", "is below zero");
  if (!is_within(outliers.latency_factor, 0, 1e9))
    return bad("OutlierOptions::latency_factor", "is below zero");
  if (!is_within(outliers.ejected_share_max, 0, 1)) {
    return bad("OutlierOptions::ejected_share_max", "is not from 0 to 1");
  }
  if (!is_within(outliers.panic_share, 0, 1)) return bad("OutlierOptions::panic_share", "is not from 0 to 1");
  return {};
}

Status check(const RetryBudgetOptions& budget) {
  if (!is_within(budget.share_of_calls, 0, 10)) {
    return bad("FleetOptions::retry_budget.share_of_calls", "is not from 0 to 10");
  }
  if (!is_within(budget.floor_per_second, 0, 1e6)) {
    return bad("FleetOptions::retry_budget.floor_per_second", "is not from 0 to 1e6");
  }
  if (!is_within(budget.saved_max, 1, 1e18)) return bad("FleetOptions::retry_budget.saved_max", "is below 1");
  return {};
}

}  // namespace

Status check_options(const FleetRetry& retry) {
  if (retry.attempts_max == 0) return bad("FleetRetry::attempts_max", "is zero");
  if (retry.backoff_min < Duration::zero()) return bad("FleetRetry::backoff_min", "is below zero");
  if (retry.backoff_max < retry.backoff_min) return bad("FleetRetry::backoff_max", "is below backoff_min");
  if (retry.attempt_timeout <= Duration::zero())
    return bad("FleetRetry::attempt_timeout", "is not above zero");
  return {};
}

Status check_options(const FleetOptions& options) {
  if (Status checked = check_options(options.retry); !checked.ok()) return checked;
  if (Status checked = check(options.retry_budget); !checked.ok()) return checked;
  if (options.outliers) {
    if (Status checked = check(*options.outliers); !checked.ok()) return checked;
  }
  if (options.subset && options.subset->size == 0) return bad("SubsetOptions::size", "is zero");
  if (!options.pool.client.connect.empty()) {
    return bad("FleetOptions::pool.client.connect",
               "is set, but FleetOptions::name says which the servers are");
  }
  if (options.backup_after < Duration::zero()) return bad("FleetOptions::backup_after", "is below zero");
  // A policy that refuses no servers at all has options that it can never work with.
  if (options.balancing != nullptr) {
    if (Status refused = options.balancing->set_endpoints({}); !refused.ok()) {
      refused.mark_unprocessed();
      return refused.with_context([] { return std::string{"FleetOptions::balancing"}; });
    }
  }
  return {};
}

}  // namespace weft::detail
