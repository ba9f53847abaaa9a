// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "weft/detail/base/status.hpp"
#include "weft/detail/base/time.hpp"
#include "weft/detail/calls/terms/limits.hpp"
#include "weft/detail/limits/adaptive_limit_options.hpp"
#include "weft/detail/limits/rate.hpp"

namespace weft::detail {

/// Option of a time, or of a number, with the name that its user knows.
struct NamedDuration {
  std::string_view name;
  Duration value;
};
struct NamedCount {
  std::string_view name;
  std::uint64_t value;
};

/// Returns kInvalidArgument with the name of the option and advice.
Status misuse(std::string_view option, std::string_view why);

// Each returns ok, or the misuse of the first option with which nothing would ever work.
Status check_above_zero(std::initializer_list<NamedDuration> durations);
Status check_not_negative(std::initializer_list<NamedDuration> durations);
Status check_above_zero(std::initializer_list<NamedCount> counts);
Status check_threads(std::string_view option, unsigned threads);
Status check_limits(const RpcLimits& limits);
/// `option` is the name that the user knows.
Status check_rate(const Rate& rate, std::string_view option);
Status check_adaptive(const AdaptiveLimitOptions& limit, std::string_view option);

}  // namespace weft::detail
