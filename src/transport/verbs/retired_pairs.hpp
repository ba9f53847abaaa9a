// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "transport/verbs/send_memory.hpp"
#include "weft/detail/runtime/loop.hpp"
#include "weft/detail/runtime/timer.hpp"
#include "weft/detail/verbs/queue_pair.hpp"

namespace weft::detail::verbs_carrier {

class ReceivePool;

/// A queue pair in error whose carrier has ended, and what the device may use until it is destroyed.
struct RetiredPair {
  std::unique_ptr<verbs::QueuePair> pair;
  std::vector<SentMemory> sent{};
  /// A receive that it may have taken, which is promised as long.
  std::size_t credits = 0;
  TimePoint until{};
};

/// Queue pairs that outlive their carriers until the device returns the shared receives that it took:
/// otherwise the receive of a half-received message would be lost to all other carriers.
///
///   add() --> retired --the device returned them, kRetirement passed, or its place is needed--> destroyed
///
/// Thread: the loop's.
class RetiredPairs final : private Timer {
 public:
  RetiredPairs(Loop& loop, SendMemory& sends, ReceivePool& receives)
      : loop_(loop), sends_(sends), receives_(receives) {}
  RetiredPairs(const RetiredPairs&) = delete;
  RetiredPairs& operator=(const RetiredPairs&) = delete;
  ~RetiredPairs();

  std::size_t size() const noexcept { return pairs_.size(); }
  void add(RetiredPair retired) noexcept;
  /// Destroys the one that retired first, of at least one.
  void end_oldest() noexcept;
  /// The device has no receive any more for the queue pair of that number, whose completion does not lie
  /// there by now.
  void on_last_receive(std::uint32_t queue_pair) noexcept;

 private:
  void on_timer() override;
  void end(RetiredPair retired) noexcept;
  void disarm_if_empty() noexcept;

  Loop& loop_;
  SendMemory& sends_;
  ReceivePool& receives_;
  /// Oldest first.
  std::deque<RetiredPair> pairs_;
};

}  // namespace weft::detail::verbs_carrier
