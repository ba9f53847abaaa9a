// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <utility>

#include "weft/detail/base/time.hpp"
#include "weft/detail/limits/service_time.hpp"

namespace weft::detail {

/// Limits the calls that are served at the same time over all loops, of a server or of one of its methods.
/// Never exceeded, not even briefly. One connection may hold at most eight times as many of a server's places
/// as are free at that moment, so that one peer's slow calls do not shut out the others. Thread: any.
class RunningLimit {
 public:
  /// Makes the limit of a server.
  explicit RunningLimit(std::size_t max) noexcept : max_(max), of_server_(true) {}
  /// Makes the limit of a method; `server` may be null, otherwise it must outlive this.
  RunningLimit(std::size_t max, RunningLimit* server) noexcept : max_(max), server_(server) {}
  RunningLimit(const RunningLimit&) = delete;
  RunningLimit& operator=(const RunningLimit&) = delete;

  /// Takes a place, here and in the server; returns false, and takes none, if either is full. The call's
  /// connection has `held` calls already.
  bool try_enter(std::size_t held) noexcept;
  void leave() noexcept;
  std::size_t running() const noexcept { return running_.load(std::memory_order_relaxed); }
  /// Returns how long a refused call should wait: about the time that running calls take.
  Duration wait() const noexcept;

 private:
  const std::size_t max_;
  RunningLimit* const server_ = nullptr;
  const bool of_server_ = false;
  std::atomic<std::size_t> running_ = 0;
  ServiceTime time_;
};

/// The place of one call under a RunningLimit, released at its end.
class RunningPlace {
 public:
  RunningPlace() = default;
  RunningPlace(RunningPlace&& other) noexcept : limit_(std::exchange(other.limit_, nullptr)) {}
  RunningPlace& operator=(RunningPlace&&) = delete;
  ~RunningPlace() {
    if (limit_ != nullptr) limit_->leave();
  }

  /// Takes a place under `limit`, which outlives this, for a call of a connection with `held` others. Call
  /// once; returns false when there is none, true without a limit.
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
