// SPDX-License-Identifier: Apache-2.0
#include "calls/terms/method_counters.hpp"

#include <algorithm>

namespace weft::detail {

std::uint64_t MethodCounts::taken() const noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size_; ++i) sum += counters_[i].taken.get();
  return sum;
}

const MethodEntry* MethodCounts::method_of(const MethodCounters& counters,
                                           const std::vector<MethodEntry>& entries) const noexcept {
  const auto counted = std::find_if(entries.begin(), entries.end(), [&](const MethodEntry& entry) {
    return &counters_[entry.index] == &counters;
  });
  return counted != entries.end() ? &*counted : nullptr;
}

void MethodCounts::add_to(MethodStats& stats, const MethodEntry& method) const {
  add_to(stats, counters_[method.index], method.kind);
}

void MethodCounts::add_to(MethodStats& stats, const MethodCounters& counters, HandlerKind kind) {
  // The counters of ends are read before that of beginnings, so that no more calls have ended than were
  // taken.
  std::uint64_t ended = counters.dropped.get();
  stats.dropped += ended;
  for (std::size_t code = 0; code < kStatusCodes; ++code) {
    const std::uint64_t failed = counters.failed[code].get();
    stats.failed[code] += failed;
    const std::uint64_t refused = counters.refused[code].get();
    stats.refused_codes[code] += refused;
    stats.refused += refused;
    ended += failed + refused;
  }
  const std::uint64_t answered = counters.answered.get();
  const std::uint64_t taken = counters.taken.get();
  stats.calls += taken;
  stats.running += counters.running.get();
  stats.answered += kind == HandlerKind::kInline ? taken - std::min(taken, ended) : answered;
  if (const MethodTimes* const times = counters.times.find()) times->add_to(stats);
}

}  // namespace weft::detail
