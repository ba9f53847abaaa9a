// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "weft/verbs/memory.hpp"

namespace weft::detail::verbs_carrier {

/// Carries out what OfferedBytes and FetchedOffers decide. Not called inside a poll.
class RendezvousQueue {
 public:
  /// Offers `piece` to the peer. False when nothing was sent: there is no credit, no place or no memory now,
  /// or the device refused it and the carrier has failed.
  virtual bool send_offer(const verbs::RemoteMemory& piece) noexcept = 0;
  /// Tells the peer that what was declined, and all behind it, comes again. False: the same.
  virtual bool send_again() noexcept = 0;
  /// Begins to read `from` to `to`, memory of ours that `lkey` names. False when nothing was begun.
  virtual bool begin_read(const verbs::RemoteMemory& from, std::byte* to, std::uint32_t lkey) noexcept = 0;

 protected:
  ~RendezvousQueue() = default;
};

/// Hears of the ends of reads, in the order in which they were begun.
class ReadOwner {
 public:
  /// Inside a poll.
  virtual void on_read() noexcept = 0;

 protected:
  ~ReadOwner() = default;
};

}  // namespace weft::detail::verbs_carrier
