// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/method_counters.hpp"

#include <algorithm>

namespace weft::detail {

std::uint64_t MethodCounts::taken() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += counters_[i].taken.get();
  return sum;
}

void MethodCounts::add_to(MethodStats& stats, const MethodEntry& method) const noexcept {
  const MethodCounters& counters = counters_[method.index];
  // The counters of ends are read before that of beginnings, so that no more calls have ended than were
  // taken.
  std::uint64_t ended = counters.refused.get() + counters.dropped.get();
  stats.refused += counters.refused.get();
  stats.dropped += counters.dropped.get();
  for (std::size_t code = 0; code < kStatusCodes; ++code) {
    const std::uint64_t failed = counters.failed[code].get();
    stats.failed[code] += failed;
    ended += failed;
  }
  const std::uint64_t answered = counters.answered.get();
  const std::uint64_t taken = counters.taken.get();
  stats.calls += taken;
  stats.running += counters.running.get();
  stats.answered += method.kind == HandlerKind::kInline ? taken - std::min(taken, ended) : answered;
}

}  // namespace weft::detail
