// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "weft/detail/limits/token_bucket.hpp"

namespace weft::detail {

/// A token bucket for each caller, in a table that never grows. A caller that was idle long enough for its
/// bucket to be full again is forgotten when its place is needed, without an effect on it. Where all places
/// belong to active callers, new callers share one extra bucket: a peer that invents keys gets no more than
/// (`callers_max` + 1) times the rate, and takes no other caller's bucket away.
///
/// Only the constructor allocates; take() is O(1). Thread: one at a time.
class RateLimiters {
 public:
  /// `callers_max` is from 1 to 2^24.
  RateLimiters(Rate each, std::size_t callers_max, TimePoint now);

  /// Takes `tokens` from the bucket of `caller`. Returns zero if the call may run, else the time after which
  /// a retry makes sense, kNoTimeout if none does. `caller` is a hash of the caller's identity. Where callers
  /// choose their identity themselves, use a hash with a secret seed, because equal hashes share a bucket.
  Duration take(TimePoint now, std::uint64_t caller, double tokens = 1) noexcept;

  /// Callers that have a bucket of their own.
  std::size_t size() const noexcept { return used_; }

 private:
  static constexpr std::uint32_t kNone = 0xffffffffu;
  struct Entry {
    std::uint64_t caller;
    TokenBucket bucket;
    TimePoint touched;
    std::uint32_t next_in_chain;
    std::uint32_t newer;
    std::uint32_t older;
  };

  std::uint32_t find(std::uint64_t caller) const noexcept;
  /// Returns a place for a caller that has none, or kNone.
  std::uint32_t make_room(TimePoint now) noexcept;
  void link(std::uint32_t index) noexcept;
  void unlink_age(std::uint32_t index) noexcept;
  void unlink_chain(std::uint32_t index) noexcept;
  std::uint32_t& chain_of(std::uint64_t caller) noexcept;

  Rate rate_;
  Duration idle_after_;
  TokenBucket shared_;
  std::vector<Entry> entries_;
  std::vector<std::uint32_t> chains_;  // a power of two of them
  std::uint32_t used_ = 0;
  std::uint32_t newest_ = kNone;
  std::uint32_t oldest_ = kNone;
};

}  // namespace weft::detail
