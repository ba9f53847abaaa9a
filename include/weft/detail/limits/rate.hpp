// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

/// A rate and a burst size: in any time t at most `burst` + `per_second` * t events pass.
struct Rate {
  /// Number above zero, at most 1e9.
  double per_second = 1000;
  /// Number of at least one, at most 1e9.
  double burst = 100;
};

namespace detail {

/// Returns the fault of `rate`, null if it has none. NaN is in no range.
constexpr const char* fault_of(const Rate& rate) noexcept {
  if (!(rate.per_second > 0 && rate.per_second <= 1e9)) return "per_second is not above zero and at most 1e9";
  if (!(rate.burst >= 1 && rate.burst <= 1e9)) return "burst is not from 1 to 1e9";
  return nullptr;
}

}  // namespace detail

}  // namespace weft
