// SPDX-License-Identifier: Apache-2.0
#include "calls/server/held_loops.hpp"

#include <new>
#include <string>

#include "weft/detail/runtime/mailbox.hpp"

namespace weft::detail {

namespace {

// A loop that stays held is reported at the first missed look, and then at each of these.
constexpr std::size_t kLooksBetweenReports = 5;

}  // namespace

void HeldLoops::look(const ServerLoops& loops,
                     const std::vector<std::unique_ptr<ServerShard>>& shards) noexcept {
  try {
    pulses_.resize(loops.size());
    for (std::size_t i = 0; i < pulses_.size(); ++i) {
      look_at(pulses_[i], loops[i]);
      if (pulses_[i].looks_missed % kLooksBetweenReports == 1) report(i, pulses_[i], *shards[i]);
    }
  } catch (const std::bad_alloc&) {
    // The next look has another chance.
  }
}

void HeldLoops::look_at(Pulse& pulse, Loop& loop) {
  if (loop.mailbox()->is_asleep()) {
    pulse.looks_missed = 0;
    return;
  }
  if (pulse.ran != nullptr && !pulse.ran->load(std::memory_order_relaxed)) {
    ++pulse.looks_missed;
    return;
  }
  pulse.looks_missed = 0;
  if (pulse.ran == nullptr) pulse.ran = std::make_shared<std::atomic<bool>>(true);
  pulse.ran->store(false, std::memory_order_relaxed);
  try {
    loop.post([ran = pulse.ran] { ran->store(true, std::memory_order_relaxed); });
  } catch (const std::bad_alloc&) {
    pulse.ran->store(true, std::memory_order_relaxed);
  }
}

void HeldLoops::report(std::size_t index, const Pulse& pulse, const ServerShard& shard) const noexcept {
  write_line(logger_, LogLevel::kWarning, [&] {
    return "loop " + std::to_string(index) + " of the server has not turned for " +
           std::to_string(pulse.looks_missed) + " s; it is held up by " + shard.suspects_now();
  });
}

}  // namespace weft::detail
