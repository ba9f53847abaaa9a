// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace weft {

/// A rate, and how much may come at once after a quiet time. What comes in any time t is at most `burst` +
/// `per_second` * t.
struct Rate {
  /// Number above zero, at most 1e9.
  double per_second = 1000;
  /// Number of at least one, at most 1e9.
  double burst = 100;
};

}  // namespace weft
