// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/limits/rate_limiters.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/random_numbers.hpp"

namespace weft::detail {

RateLimiters::RateLimiters(Rate each, std::size_t callers_max, TimePoint now)
    : rate_(each),
      idle_after_(static_cast<Duration::rep>(std::min(9e18, std::ceil(each.burst / each.per_second * 1e9)))),
      shared_(each, now) {
  WEFT_ASSERT(callers_max >= 1 && callers_max <= (1u << 24), "a table has from 1 to 2^24 callers");
  entries_.assign(callers_max, Entry{0, shared_, now, kNone, kNone, kNone});
  chains_.assign(std::bit_ceil(callers_max), kNone);
}

Duration RateLimiters::take(TimePoint now, std::uint64_t caller, double tokens) noexcept {
  TokenBucket* bucket = &shared_;
  std::uint32_t index = find(caller);
  if (index != kNone) {
    unlink_age(index);
  } else if (index = make_room(now); index != kNone) {
    entries_[index].caller = caller;
    entries_[index].bucket = TokenBucket{rate_, now};
    entries_[index].next_in_chain = chain_of(caller);
    chain_of(caller) = index;
  }
  if (index != kNone) {
    entries_[index].touched = now;
    link(index);
    bucket = &entries_[index].bucket;
  }
  return bucket->try_take(now, tokens) ? Duration::zero() : bucket->wait(now, tokens);
}

std::uint32_t RateLimiters::find(std::uint64_t caller) const noexcept {
  std::uint32_t index = const_cast<RateLimiters*>(this)->chain_of(caller);
  while (index != kNone && entries_[index].caller != caller) index = entries_[index].next_in_chain;
  return index;
}

std::uint32_t RateLimiters::make_room(TimePoint now) noexcept {
  if (used_ < entries_.size()) return used_++;
  const std::uint32_t index = oldest_;
  // All have the same rate, so the one that was touched first is full first.
  if (now - entries_[index].touched < idle_after_) return kNone;
  unlink_age(index);
  unlink_chain(index);
  return index;
}

void RateLimiters::link(std::uint32_t index) noexcept {
  entries_[index].newer = kNone;
  entries_[index].older = newest_;
  (newest_ == kNone ? oldest_ : entries_[newest_].newer) = index;
  newest_ = index;
}

void RateLimiters::unlink_age(std::uint32_t index) noexcept {
  const Entry& entry = entries_[index];
  (entry.newer == kNone ? newest_ : entries_[entry.newer].older) = entry.older;
  (entry.older == kNone ? oldest_ : entries_[entry.older].newer) = entry.newer;
}

void RateLimiters::unlink_chain(std::uint32_t index) noexcept {
  std::uint32_t* at = &chain_of(entries_[index].caller);
  while (*at != index) at = &entries_[*at].next_in_chain;
  *at = entries_[index].next_in_chain;
}

std::uint32_t& RateLimiters::chain_of(std::uint64_t caller) noexcept {
  return chains_[RandomNumbers{caller}.next() & (chains_.size() - 1)];
}

}  // namespace weft::detail
