// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/send_memory.hpp"

#include "transport/verbs/limits.hpp"

namespace weft::detail::verbs_carrier {

SendMemory::SendMemory(const std::shared_ptr<verbs::ProtectionDomain>& domain,
                       const VerbsOptions& options) noexcept
    : bytes_(domain, {options.message_bytes,
                      options.block_bytes,
                      options.send_bytes_max,
                      {options.usage, &VerbsUsage::send_bytes}}),
      controls_(domain, {kControlBytes,
                         kControlBlockBytes,
                         verbs_memory(options).control_bytes_max,
                         {options.usage, &VerbsUsage::control_bytes}}) {}

Status SendMemory::provide() {
  if (Status failed = provide(bytes_); !failed.ok()) return failed;
  return provide(controls_);
}

Status SendMemory::provide(SlotPool& pool) {
  const SlotPool::Slot slot = pool.acquire();
  if (!slot) return pool.no_memory("memory to send from");
  pool.release(slot.index);
  return {};
}

SlotPool::Slot SendMemory::acquire(SentMemory::Kind kind, CarrierTurn& turn) noexcept {
  const SlotPool::Slot slot = kind == SentMemory::Kind::kBytes ? bytes_.acquire() : controls_.acquire();
  if (!slot && !static_cast<ListHook<StarvedTag>&>(turn).linked()) starved_.push_back(turn);
  return slot;
}

void SendMemory::release(const SentMemory& memory) noexcept {
  if (memory.kind == SentMemory::Kind::kBytes) {
    bytes_.release(memory.slot);
    serve_starved();
  } else if (memory.kind == SentMemory::Kind::kControl) {
    controls_.release(memory.slot);
    if (!starved_.empty()) starved_.pop_front().touch();
  }
}

void SendMemory::serve_starved() noexcept {
  if (!starved_.empty() && bytes_.has_free()) starved_.pop_front().touch();
}

}  // namespace weft::detail::verbs_carrier
