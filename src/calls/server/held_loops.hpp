// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <memory>
#include <vector>

#include "calls/server/server_loops.hpp"
#include "calls/server/server_shard.hpp"
#include "weft/detail/base/log.hpp"

namespace weft::detail {

/// Finds loops that are blocked, and names the last method that each of them began. A thread that waits for
/// the end of a server looks once per interval: each look posts to the loops that ran the post of the
/// previous look. Thread: not one of these loops'.
class HeldLoops {
 public:
  static constexpr Duration kInterval = std::chrono::seconds{1};

  explicit HeldLoops(Logger& logger) : logger_(logger) {}

  /// The loops, and the shards on them, stay the same from one look to the next.
  void look(const ServerLoops& loops, const std::vector<std::unique_ptr<ServerShard>>& shards) noexcept;

 private:
  struct Pulse {
    /// Set by the loop. Null before the first post.
    std::shared_ptr<std::atomic<bool>> ran;
    std::size_t looks_missed = 0;
  };

  void look_at(Pulse& pulse, Loop& loop);
  void report(std::size_t index, const Pulse& pulse, const ServerShard& shard) const noexcept;

  Logger& logger_;
  std::vector<Pulse> pulses_;
};

}  // namespace weft::detail
