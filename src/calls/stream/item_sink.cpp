// SPDX-License-Identifier: Apache-2.0
#include "calls/stream/item_sink.hpp"

#include "calls/terms/admission.hpp"
#include "weft/detail/runtime/loop.hpp"

namespace weft::detail {

std::optional<Refusal> ItemSink::refusal() const {
  if (served_ < limits_.streams_max) return std::nullopt;
  return Refusal{RefusalReason::kOverStreams,
                 exhausted("the connection has as many streams open as it may (RpcLimits::streams_max)")};
}

bool ItemSink::has_share_for(std::uint64_t cost) const noexcept {
  return held_ + cost <= limits_.connection_memory_max && leaves_others_a_share(held_, cost, memory_.free());
}

void ItemSink::wake_rest(Ready* node) noexcept {
  ItemSink& sink = *static_cast<ItemSink*>(node);
  if (sink.has_room_for_items()) sink.wake_writers();
}

// However many writers wait, room is offered to a bounded number of them: a writer that finds none waits
// behind the others again, and the protocol wakes them when there is room.
void ItemSink::wake_writers() noexcept {
  constexpr int kAtOnce = 16;
  for (int woken = 0; woken < kAtOnce && !waiting_.empty(); ++woken) waiting_.pop_front().wake_writer();
  if (!waiting_.empty() && !is_scheduled()) loop_.schedule(*this);
}

}  // namespace weft::detail
