// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/token_bucket.hpp"

namespace weft::detail {

/// TokenBucket that threads share without a lock: one atomic number, the time at which the bucket is full
/// again. Tokens come a whole number of nanoseconds apart, rounded up. Source: the generic cell rate
/// algorithm (ITU-T I.371). Thread: any.
class SharedTokenBucket {
 public:
  explicit SharedTokenBucket(Rate rate) noexcept;

  /// Takes a token. Returns zero on success, else the time after which a token is available unless another
  /// caller takes it.
  Duration take(TimePoint now) noexcept;
  /// Returns the result of take() without taking a token.
  Duration wait(TimePoint now) const noexcept;

 private:
  Duration wait_from(Duration::rep full_at, TimePoint now) const noexcept;

  const Duration::rep apart_;
  const Duration::rep all_but_one_;  // what the others of the burst take to come
  std::atomic<Duration::rep> full_at_ = 0;
};

}  // namespace weft::detail
