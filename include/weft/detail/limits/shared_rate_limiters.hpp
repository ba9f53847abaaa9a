// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/rate_limiters.hpp"

namespace weft::detail {

/// RateLimiters shared by threads: callers are distributed over parts by their hashes, and each part has a
/// lock, which is held for one look at one bucket. A peer that invents keys gets no more than (`callers_max`
/// + 16) times the rate. Only the constructor allocates. Thread: any.
class SharedRateLimiters {
 public:
  /// `callers_max` is from 1 to 2^24. `threads` is how many use it; one needs no parts.
  SharedRateLimiters(Rate each, std::size_t callers_max, std::size_t threads, TimePoint now);

  /// Does as RateLimiters::take().
  Duration take(TimePoint now, std::uint64_t caller) noexcept;
  /// Callers that have a bucket of their own.
  std::size_t size() const noexcept;

 private:
  struct Part {
    Part(Rate each, std::size_t callers_max, TimePoint now) : limiters(each, callers_max, now) {}
    mutable std::mutex mutex;
    RateLimiters limiters;
  };

  std::vector<std::unique_ptr<Part>> parts_;  // a power of two of them
};

}  // namespace weft::detail
