// SPDX-License-Identifier: Apache-2.0
#include "calls/client/check_options.hpp"

#include "calls/terms/option_checks.hpp"

namespace weft::detail {

namespace {

Status check_budget(const RetryBudgetOptions& budget) {
  if (!(budget.share_of_calls >= 0 && budget.share_of_calls <= 10)) {
    return misuse("RetryBudgetOptions::share_of_calls", "a share is from 0 to 10");
  }
  if (!(budget.floor_per_second >= 0 && budget.floor_per_second <= 1e6)) {
    return misuse("RetryBudgetOptions::floor_per_second", "a floor is from 0 to 1e6");
  }
  if (!(budget.saved_max >= 1)) {
    return misuse("RetryBudgetOptions::saved_max", "a budget that saves less than one retry never has one");
  }
  return {};
}

}  // namespace

Status check_options(const ClientOptions& options) {
  if (options.connect.empty()) {
    return misuse("ClientOptions::connect",
                  "a client needs a server; give it for example \"tcp://127.0.0.1:9000\"");
  }
  Status status = check_above_zero({{"ClientOptions::connect_timeout", options.connect_timeout},
                                    {"ClientOptions::call_timeout", options.call_timeout}});
  if (!status.ok()) return status;
  status = check_not_negative({{"ClientOptions::reconnect_wait_min", options.reconnect_wait_min},
                               {"ClientOptions::reconnect_wait_max", options.reconnect_wait_max},
                               {"ClientOptions::reconnect_spread", options.reconnect_spread}});
  return status.ok() ? check_limits(options.limits) : status;
}

Status check_options(const PoolOptions& options) {
  Status status = check_options(options.client);
  if (!status.ok()) return status;
  status = check_above_zero({{"PoolOptions::connections_max", options.connections_max},
                             {"PoolOptions::bulk_connections_max", options.bulk_connections_max}});
  if (status.ok()) {
    status = check_above_zero({{"PoolOptions::spare_idle_timeout", options.spare_idle_timeout}});
  }
  if (status.ok()) {
    status = check_not_negative({{"PoolOptions::idle_timeout", options.idle_timeout},
                                 {"PoolOptions::connection_life_max", options.connection_life_max}});
  }
  return status.ok() ? check_budget(options.retry_budget) : status;
}

}  // namespace weft::detail
