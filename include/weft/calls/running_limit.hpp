// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

namespace weft {

/// Bound of the calls that are served at the same time, over all loops: those of one method, within those of
/// a server. Never exceeded, not even for a moment. Thread: any.
class RunningLimit {
 public:
  /// `whole` bounds those of this limit together with others; may be null, else it outlives this.
  explicit RunningLimit(std::size_t max, RunningLimit* whole = nullptr) noexcept : max_(max), whole_(whole) {}
  RunningLimit(const RunningLimit&) = delete;
  RunningLimit& operator=(const RunningLimit&) = delete;

  /// One call more, here and in the whole, or none anywhere: false.
  bool try_enter() noexcept {
    if (whole_ != nullptr && !whole_->try_enter()) return false;
    std::size_t running = running_.load(std::memory_order_relaxed);
    do {
      if (running >= max_) {
        if (whole_ != nullptr) whole_->leave();
        return false;
      }
    } while (!running_.compare_exchange_weak(running, running + 1, std::memory_order_relaxed));
    return true;
  }
  void leave() noexcept {
    running_.fetch_sub(1, std::memory_order_relaxed);
    if (whole_ != nullptr) whole_->leave();
  }
  std::size_t running() const noexcept { return running_.load(std::memory_order_relaxed); }

 private:
  const std::size_t max_;
  RunningLimit* const whole_;
  std::atomic<std::size_t> running_ = 0;
};

/// Place of one call under a RunningLimit, given back at its end.
class RunningPlace {
 public:
  RunningPlace() = default;
  RunningPlace(RunningPlace&& other) noexcept : limit_(std::exchange(other.limit_, nullptr)) {}
  RunningPlace& operator=(RunningPlace&&) = delete;
  ~RunningPlace() {
    if (limit_ != nullptr) limit_->leave();
  }

  /// Takes a place under `limit`, which outlives this. Once; false when there is none, true without a limit.
  bool take(RunningLimit* limit) noexcept {
    if (limit == nullptr) return true;
    if (!limit->try_enter()) return false;
    limit_ = limit;
    return true;
  }

 private:
  RunningLimit* limit_ = nullptr;
};

}  // namespace weft
