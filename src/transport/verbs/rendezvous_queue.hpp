// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <infiniband/verbs.h>
#include <sys/uio.h>

#include <cstddef>
#include <span>

#include "weft/detail/verbs/memory.hpp"

namespace weft::detail::verbs_carrier {

/// A read of memory of the peer's to memory of ours, piece by piece: one work request.
struct ReadRequest {
  verbs::RemoteMemory from{};
  /// Places that are as long together.
  std::span<ibv_sge> into{};
};

/// Bytes that go in the same message as an offer, which stands behind them: whole pieces.
struct BytesBefore {
  std::span<const iovec> pieces{};
  std::size_t bytes = 0;
};

/// Carries out what OfferedBytes and FetchedOffers decide. Not called inside a poll.
class RendezvousQueue {
 public:
  /// Offers `runs`, kRunsOfferedMax at most, to the peer, as one, behind `before`, which has room beside
  /// them. False when nothing was sent: there is no credit, no place or no memory now, or the device refused
  /// it and the carrier has failed.
  virtual bool send_offer(const BytesBefore& before, std::span<const verbs::RemoteMemory> runs) noexcept = 0;
  /// Tells the peer that declined bytes, and everything behind them, are sent again. Returns false as send()
  /// does.
  virtual bool send_again() noexcept = 0;
  /// Returns how many reads may be begun now.
  virtual std::size_t places_for_reads() const noexcept = 0;
  /// Begins `reads`, as many as there are places for and kReadsAtOnce at most, in their order. Returns how
  /// many were begun: fewer when the device refused one, and the carrier has failed.
  virtual std::size_t begin_reads(std::span<const ReadRequest> reads) noexcept = 0;

 protected:
  ~RendezvousQueue() = default;
};

/// Notified of the ends of reads, in the order in which they were begun.
class ReadOwner {
 public:
  /// A read has ended. Called inside a poll.
  virtual void on_read() noexcept = 0;

 protected:
  ~ReadOwner() = default;
};

}  // namespace weft::detail::verbs_carrier
