// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "weft/detail/base/time.hpp"

namespace weft {

namespace detail {

/// Waits between attempts, from `min` to `max`, doubled each time. Each is jittered to between one half and
/// the whole, so that many callers that failed together do not return together. Thread: one at a time.
class Backoff {
 public:
  /// A `min` of zero or less makes all waits zero; a `max` below `min` counts as `min`.
  Backoff(Duration min, Duration max) noexcept;

  /// Returns the next wait. `random` is a number of the whole range, a new one for each call.
  Duration next(std::uint64_t random) noexcept;
  /// The next wait is the first again: an attempt has succeeded.
  void reset() noexcept { wait_ = Duration::zero(); }

 private:
  Duration min_;
  Duration max_;
  Duration wait_ = Duration::zero();
};

}  // namespace detail

}  // namespace weft
