// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/service_time.hpp"

namespace weft::detail {

/// Bound of the calls that are served at the same time, over all loops: those of a server, or within them
/// those of one method. Never exceeded, not even for a moment. One connection may take at most eight times as
/// many of a server's places as are free at that moment, so that one peer's slow calls do not shut out the
/// others. Thread: any.
class RunningLimit {
 public:
  /// Makes the bound of a server.
  explicit RunningLimit(std::size_t max) noexcept : max_(max), of_server_(true) {}
  /// Makes the bound of a method; `server` may be null, else it outlives this.
  RunningLimit(std::size_t max, RunningLimit* server) noexcept : max_(max), server_(server) {}
  RunningLimit(const RunningLimit&) = delete;
  RunningLimit& operator=(const RunningLimit&) = delete;

  /// One call more, here and in the server, or none anywhere: false. Its connection has `held` calls already.
  bool try_enter(std::size_t held) noexcept;
  void leave() noexcept;
  std::size_t running() const noexcept { return running_.load(std::memory_order_relaxed); }
  /// Returns how long a call that found no place may wait: about as long as those that run take.
  Duration wait() const noexcept;

 private:
  const std::size_t max_;
  RunningLimit* const server_ = nullptr;
  const bool of_server_ = false;
  std::atomic<std::size_t> running_ = 0;
  ServiceTime time_;
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

  /// Takes a place under `limit`, which outlives this, for a call of a connection that has `held` others.
  /// Once; false when there is none, true without a limit.
  bool take(RunningLimit* limit, std::size_t held = 0) noexcept {
    if (limit == nullptr) return true;
    if (!limit->try_enter(held)) return false;
    limit_ = limit;
    return true;
  }

 private:
  RunningLimit* limit_ = nullptr;
};

}  // namespace weft::detail
