// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::detail {

/// A count that one thread changes and any thread may read: plain loads and stores, no locked instruction.
class Counter {
 public:
  void operator++() { add(1); }
  void operator--() { add(-1); }
  void add(std::int64_t difference) {
    value_.store(value_.load(std::memory_order_relaxed) + static_cast<std::uint64_t>(difference),
                 std::memory_order_relaxed);
  }
  std::uint64_t get() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

}  // namespace weft::detail
