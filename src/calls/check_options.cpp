// SPDX-License-Identifier: Apache-2.0
#include "calls/check_options.hpp"

#include <initializer_list>
#include <string>

#include "weft/detail/calls/pace.hpp"

namespace weft::detail {

namespace {

/// Pieces of attachments are no longer over any carrier.
constexpr std::size_t kPieceBytesMax = std::size_t{1} << 20;

Status misuse(std::string_view option, std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kRpc, std::string{option} + ": " + std::string{why}};
}

struct NamedDuration {
  std::string_view name;
  Duration value;
};
struct NamedCount {
  std::string_view name;
  std::uint64_t value;
};

Status check_above_zero(std::initializer_list<NamedDuration> durations) {
  for (const NamedDuration& each : durations) {
    if (each.value <= Duration::zero()) {
      return misuse(each.name, std::to_string(each.value.count()) +
                                   " ns is over before it begins; give a time above zero");
    }
  }
  return {};
}

Status check_not_negative(std::initializer_list<NamedDuration> durations) {
  for (const NamedDuration& each : durations) {
    if (each.value < Duration::zero()) {
      return misuse(each.name,
                    std::to_string(each.value.count()) + " ns is negative; give zero (none) or a time");
    }
  }
  return {};
}

Status check_above_zero(std::initializer_list<NamedCount> counts) {
  for (const NamedCount& each : counts) {
    if (each.value == 0) return misuse(each.name, "0 lets nothing through; give one or more");
  }
  return {};
}

Status check_rate_max(const RpcLimits& limits) {
  const std::uint64_t rate = limits.attachment_rate_max;
  if (rate == 0) return {};
  if (rate > Pace::kRateMax) {
    return misuse("RpcLimits::attachment_rate_max",
                  std::to_string(rate) + " bytes/s is no rate; was it negative?");
  }
  const std::uint64_t least = Pace::least(0, kPieceBytesMax, limits.frame_timeout);
  if (rate >= least) return {};
  return misuse("RpcLimits::attachment_rate_max",
                std::to_string(rate) +
                    " bytes/s is less than a piece of an attachment in a frame_timeout; "
                    "give zero (no limit) or at least " +
                    std::to_string(least));
}

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

Status check_limits(const RpcLimits& limits) {
  Status status = check_above_zero({{"RpcLimits::frame_timeout", limits.frame_timeout},
                                    {"RpcLimits::hello_timeout", limits.hello_timeout},
                                    {"RpcLimits::stall_timeout", limits.stall_timeout}});
  if (status.ok()) status = check_not_negative({{"RpcLimits::ping_interval", limits.ping_interval}});
  if (!status.ok()) return status;
  status = check_above_zero({{"RpcLimits::body_bytes_max", limits.body_bytes_max},
                             {"RpcLimits::calls_in_flight_max", limits.calls_in_flight_max},
                             {"RpcLimits::stream_window", limits.stream_window}});
  return status.ok() ? check_rate_max(limits) : status;
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

// NaN is in no range.
Status check_rate(const Rate& rate, std::string_view option) {
  if (!(rate.per_second > 0 && rate.per_second <= 1e9)) {
    return misuse(option, "a rate per_second is above zero, and at most 1e9");
  }
  if (!(rate.burst >= 1 && rate.burst <= 1e9))
    return misuse(option, "a burst is at least 1, and at most 1e9");
  return {};
}

Status check_adaptive(const AdaptiveLimitOptions& limit, std::string_view option) {
  if (limit.limit_initial == 0 || limit.limit_initial > limit.limit_max) {
    return misuse(option, "limit_initial is from 1 to limit_max");
  }
  if (!(limit.tolerance > 1)) return misuse(option, "a tolerance of 1 or less lowers the limit for ever");
  if (limit.window <= Duration::zero() || limit.window_calls_min == 0) {
    return misuse(option, "a window and its calls are above zero");
  }
  if (limit.probe_time_max <= Duration::zero() || limit.probe_limit == 0 || limit.probe_calls == 0 ||
      limit.probe_interval <= Duration::zero()) {
    return misuse(option, "the times, the limit and the calls of a probe are above zero");
  }
  return {};
}

namespace {

Status check_gates(const ServerOptions& options) {
  constexpr std::size_t kCallersMax = std::size_t{1} << 24;
  for (const CallerRate& rate : options.caller_rates) {
    if (Status status = check_rate(rate.rate, "ServerOptions::caller_rates"); !status.ok()) return status;
    if (rate.callers_max == 0 || rate.callers_max > kCallersMax) {
      return misuse("CallerRate::callers_max", "give from 1 to 2^24 callers");
    }
  }
  if (!options.adaptive_limit) return {};
  return check_adaptive(*options.adaptive_limit, "ServerOptions::adaptive_limit");
}

}  // namespace

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

Status check_options(const ServerOptions& options, bool blocking) {
  if (options.listen.empty()) {
    return misuse("ServerOptions::listen",
                  "a server needs somewhere to listen; give it for example {\"tcp://127.0.0.1:0\"}");
  }
  if (options.threads == 0 && options.loop == nullptr) {
    return misuse("ServerOptions::loop", "a server of no threads needs a loop; give it one, or set threads");
  }
  if (options.threads != 0 && options.loop != nullptr) {
    return misuse("ServerOptions::loop",
                  "a server with threads of its own would not run on this loop; set threads to 0");
  }
  Status status = check_above_zero({{"ServerOptions::connections_max", options.connections_max}});
  if (status.ok() && blocking) {
    status = check_above_zero({{"ServerOptions::worker_threads", options.worker_threads},
                               {"ServerOptions::worker_queue_max", options.worker_queue_max}});
  }
  if (status.ok()) {
    status = check_above_zero({{"ServerOptions::peer_call_timeout", options.peer_call_timeout}});
  }
  if (status.ok()) status = check_gates(options);
  return status.ok() ? check_limits(options.limits) : status;
}

}  // namespace weft::detail
