// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "calls/terms/method_times.hpp"
#include "weft/detail/base/counter.hpp"
#include "weft/detail/base/status.hpp"
#include "weft/detail/calls/terms/method_entry.hpp"
#include "weft/detail/calls/terms/method_stats.hpp"

namespace weft::detail {

class MethodTable;

/// Counts the calls of one method on one loop. Changed on that loop, read on any thread; no other loop's
/// counters lie in the same cache line.
struct alignas(64) MethodCounters {
  Counter taken;
  /// Calls with a result. Those of ordinary functions are not counted: their calls that did not fail were
  /// answered.
  Counter answered;
  Counter dropped;
  /// Records that have not ended.
  Counter running;
  std::array<Counter, kStatusCodes> failed;
  std::array<Counter, kStatusCodes> refused;
  /// Empty where calls are not timed.
  OwnedMethodTimes times;

  void fail(StatusCode code) noexcept { ++failed[static_cast<std::size_t>(code) % kStatusCodes]; }
  void refuse(StatusCode code) noexcept { ++refused[static_cast<std::size_t>(code) % kStatusCodes]; }
};

/// Counters of all methods on one loop, and of requests for unknown methods.
class MethodCounts {
 public:
  /// Has those for no method only.
  MethodCounts() : MethodCounts(0) {}
  explicit MethodCounts(std::size_t methods)
      : size_(methods + 1), counters_(std::make_unique<MethodCounters[]>(size_)) {}
  /// Takes the counters of `other`. No other thread reads this meanwhile.
  MethodCounts& operator=(MethodCounts&& other) noexcept {
    size_ = other.size_;
    counters_ = std::move(other.counters_);
    return *this;
  }

  MethodCounters& of(const MethodEntry& method) noexcept { return counters_[method.index]; }
  MethodCounters& of_none() noexcept { return counters_[0]; }
  const MethodCounters& of(const MethodEntry& method) const noexcept { return counters_[method.index]; }
  /// Returns the method of `entries` that `counters`, which are of this, count; null for requests for none.
  const MethodEntry* method_of(const MethodCounters& counters,
                               const std::vector<MethodEntry>& entries) const noexcept;
  /// Requests taken, for methods or not.
  std::uint64_t taken() const noexcept;
  /// Adds the counters of `method` to `stats`. Throws std::bad_alloc.
  void add_to(MethodStats& stats, const MethodEntry& method) const;
  /// Adds the counters of requests for no method.
  void add_none_to(MethodStats& stats) const { add_to(stats, counters_[0], HandlerKind::kInline); }

 private:
  static void add_to(MethodStats& stats, const MethodCounters& counters, HandlerKind kind);

  std::size_t size_;
  /// That of requests for no method is the first.
  std::unique_ptr<MethodCounters[]> counters_;
};

}  // namespace weft::detail
