// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/option_checks.hpp"

#include <array>
#include <string>
#include <utility>

#include "weft/detail/calls/terms/pace.hpp"
#include "weft/detail/runtime/worker_threads.hpp"

namespace weft::detail {

namespace {

/// Pieces of attachments are no longer over any carrier.
constexpr std::size_t kPieceBytesMax = std::size_t{1} << 20;

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

/// A time as a whole number of the largest unit that divides it.
std::string time_text(Duration time) {
  struct Unit {
    Duration::rep nanoseconds;
    std::string_view name;
  };
  constexpr std::array kUnits{Unit{1'000'000'000, " s"}, Unit{1'000'000, " ms"}, Unit{1000, " us"}};
  for (const Unit& unit : kUnits) {
    if (time.count() % unit.nanoseconds == 0) {
      return std::to_string(time.count() / unit.nanoseconds).append(unit.name);
    }
  }
  return std::to_string(time.count()) + " ns";
}

}  // namespace

Status misuse(std::string_view option, std::string_view why) {
  return {StatusCode::kInvalidArgument, Layer::kRpc, std::string{option} + ": " + std::string{why}};
}

Status check_above_zero(std::initializer_list<NamedDuration> durations) {
  for (const NamedDuration& each : durations) {
    if (each.value <= Duration::zero()) {
      return misuse(each.name, time_text(each.value) + " is over before it begins; give a time above zero");
    }
  }
  return {};
}

Status check_not_negative(std::initializer_list<NamedDuration> durations) {
  for (const NamedDuration& each : durations) {
    if (each.value < Duration::zero()) {
      return misuse(each.name, time_text(each.value) + " is negative; give zero (none) or a time");
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

Status check_threads(std::string_view option, unsigned threads) {
  if (threads <= kWorkerThreadsMax) return {};
  return misuse(option, std::to_string(threads) + " threads are more than any use; was it negative?");
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

Status check_rate(const Rate& rate, std::string_view option) {
  const char* const fault = fault_of(rate);
  return fault != nullptr ? misuse(option, fault) : Status{};
}

Status check_adaptive(const AdaptiveLimitOptions& limit, std::string_view option) {
  if (limit.limit_initial == 0 || limit.limit_initial > limit.limit_max) {
    return misuse(option, "limit_initial is from 1 to limit_max");
  }
  if (!(limit.tolerance > 1)) return misuse(option, "a tolerance of 1 or less lowers the limit for ever");
  const std::pair<const char*, Duration> times[] = {{"window", limit.window},
                                                    {"probe_interval", limit.probe_interval},
                                                    {"probe_time_max", limit.probe_time_max}};
  for (const auto& [name, time] : times) {
    if (time <= Duration::zero()) return misuse(option, std::string{name} + " is a time above zero");
  }
  const std::pair<const char*, std::uint32_t> counts[] = {{"window_calls_min", limit.window_calls_min},
                                                          {"probe_limit", limit.probe_limit},
                                                          {"probe_calls", limit.probe_calls}};
  for (const auto& [name, count] : counts) {
    if (count == 0) return misuse(option, std::string{name} + " is a number above zero");
  }
  return {};
}

}  // namespace weft::detail
