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

}  // namespace weft
