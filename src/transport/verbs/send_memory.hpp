// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

#include "transport/verbs/carrier_turn.hpp"
#include "transport/verbs/slot_pool.hpp"
#include "weft/detail/base/intrusive_list.hpp"
#include "weft/detail/transport/verbs.hpp"

namespace weft::detail::verbs_carrier {

/// Memory that a work request of a carrier uses until the device has completed it.
struct SentMemory {
  enum class Kind : std::uint8_t {
    kNone,     ///< a message inside the work request
    kBytes,    ///< a slot for a message with bytes
    kControl,  ///< a slot for a message without
    kLanding,  ///< a landing, which is read into: not the loop's memory
  };
  Kind kind = Kind::kNone;
  std::uint32_t slot = 0;
};

/// Registered memory that the carriers of a loop send from. Messages without bytes have a pool of their own,
/// so that they never wait for those with bytes.
///
///   free --acquire()--> the carrier's and its device's --release()--> free: one that waits is touched
///
/// Thread: its loop's.
class SendMemory {
 public:
  SendMemory(const std::shared_ptr<verbs::ProtectionDomain>& domain, const VerbsOptions& options) noexcept;

  /// Ensures that memory of each kind exists, so that a waiting carrier is notified when another carrier
  /// returns some. Errors: kResourceExhausted, or the system's refusal.
  Status provide();

  /// A slot for a message. Empty when there is none now; then `turn` is touched when there may be one.
  SlotPool::Slot acquire(SentMemory::Kind kind, CarrierTurn& turn) noexcept;
  /// Nothing happens for memory that is not of these pools.
  void release(const SentMemory& memory) noexcept;
  /// Notifies the next waiting carrier if memory is free: the carrier notified last may not have used it.
  void serve_starved() noexcept;

 private:
  static Status provide(SlotPool& pool);

  SlotPool bytes_;
  SlotPool controls_;
  IntrusiveList<CarrierTurn, StarvedTag> starved_;
};

}  // namespace weft::detail::verbs_carrier
