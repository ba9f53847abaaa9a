// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "transport/message_protocol.hpp"
#include "transport/verbs/registrations.hpp"
#include "transport/verbs/rendezvous_queue.hpp"
#include "weft/base/time.hpp"
#include "weft/detail/transport/carrier.hpp"

namespace weft::detail::verbs_carrier {

/// Our offer to the peer: an attachment in memory that our device knows is not copied into messages but
/// offered, piece by piece, and read by the peer's device. What is offered is the beginning of what is to be
/// sent.
///
///   |<------- fetched ------->|<-- the peer's answer is awaited -->|<-- not offered yet -->|
///   |<---------------------- offered ----------------------------->|
///
/// The peer answers fetched, or declined, to the beginning of what is awaited; after a decline the rest of
/// the attachment is copied, and later ones are offered less and less often. Thread: its loop's.
class OfferedBytes {
 public:
  /// Attachments of `bytes_min` or more are offered.
  OfferedBytes(Registrations::View& registrations, RendezvousQueue& queue, MessageProtocol& protocol,
               std::size_t bytes_min) noexcept
      : registrations_(registrations), queue_(queue), protocol_(protocol), bytes_min_(bytes_min) {}

  /// True when the first `leased` bytes of `front`, which are to be sent, go by offer(): from the beginning
  /// of an attachment until all of it was answered.
  bool takes(const iovec& front, std::size_t leased) noexcept;
  /// `piece` need not be copied together with what stands before it: alone it may be offered.
  bool may_take(const iovec& piece) noexcept;
  /// The next step: reports what was fetched (kSome), or offers more.
  Moved offer(const iovec& front, std::size_t leased) noexcept;
  /// Bytes that takes() left were sent, so many.
  void copied(std::size_t bytes) noexcept { to_copy_ -= std::min(to_copy_, bytes); }

  /// The peer's answers. Impossible ones are misbehaviour. Inside a poll.
  void fetched(std::uint32_t bytes) noexcept;
  void declined(std::uint32_t bytes) noexcept;

  bool waits_for_answer() const noexcept { return offered_ > fetched_; }
  /// Asking again gets on, when a message may be sent or not.
  bool may_get_on(bool may_send) const noexcept;

  /// Asks the peer for an answer to all, soon, if that was not done. No more of the attachment is offered:
  /// if nobody takes it back, the rest is copied.
  void withdraw(TimePoint now) noexcept;
  /// When that was done last.
  TimePoint withdrawn_at() const noexcept { return withdrawn_at_; }
  /// After that answer: nothing is offered any more. Returns how much of it was fetched.
  std::size_t take_back() noexcept;
  /// Nobody reads any more.
  void end() noexcept { memory_.reset(); }

 private:
  std::shared_ptr<const Registration> readable_by_peers(Bytes bytes) noexcept;
  void forget_refusal() noexcept;

  Registrations::View& registrations_;
  RendezvousQueue& queue_;
  MessageProtocol& protocol_;
  const std::size_t bytes_min_;
  /// Keeps the attachment registered.
  std::shared_ptr<const Registration> memory_;
  std::size_t offered_ = 0;
  /// Of them, from their beginning; offer() has not reported it.
  std::size_t fetched_ = 0;
  /// Of the bytes that are to be sent next, how many are not offered.
  std::size_t to_copy_ = 0;
  /// Nothing more of this attachment is offered.
  bool declined_ = false;
  /// A decline of what was withdrawn is no sign of the peer's memory.
  bool withdrawn_ = false;
  TimePoint withdrawn_at_{};
  bool short_of_credit_ = false;
  /// In a row.
  unsigned declines_ = 0;
  /// Attachments more that are not offered, so many.
  unsigned left_out_ = 0;
};

}  // namespace weft::detail::verbs_carrier
