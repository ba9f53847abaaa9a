// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "transport/message_protocol.hpp"
#include "transport/verbs/begun_bytes.hpp"
#include "transport/verbs/offer_choice.hpp"
#include "transport/verbs/registrations.hpp"
#include "transport/verbs/rendezvous_queue.hpp"
#include "weft/detail/base/time.hpp"

namespace weft::detail::verbs_carrier {

/// Our offers to the peer: an attachment in memory that our device knows is not copied into messages but
/// offered, part by part, and read by the peer's device. Short runs of a list, of one registration, are
/// offered many at a time. Meanwhile the bytes behind it go on, in messages
/// and offers. All that is begun is the beginning of what is to be sent:
///
///   |<-------------------------- begun ----------------------------->|
///   | offered | sent | offered | offered | sent | offered | sent ... |  what is begun next
///   '-- fetched: take_done() reports it, and what was sent behind it, and it is begun no more
///
/// The peer answers fetched to the first offers and declined to the last ones, each once. Of what stands
/// behind a declined offer it has taken nothing:
///
///   going on --declined(), withdraw()--> interrupted --all is answered--> rolled back --kAgain--> going on
///
/// Interrupted, nothing more is begun. Rolled back, what is begun ends where the first declined offer began:
/// the rest is sent again, and kAgain tells the peer from where on. After a decline the rest of the
/// attachment is copied, and later ones are offered less and less often; after a withdrawal that nobody made
/// use of, all that had been begun is. Memory is given back by answers only. Thread: its loop's.
class OfferedBytes {
 public:
  /// Throws std::bad_alloc.
  OfferedBytes(Registrations::View& registrations, RendezvousQueue& queue, MessageProtocol& protocol,
               OfferChoice::Limits limits);

  /// Nothing is begun, and nothing has to be done before something is.
  bool idle() const noexcept { return begun() == 0 && !interrupted() && !again_due_; }
  /// Returns how many pieces of `next`, which are what is begun next, and of which the first `leased` bytes
  /// are leased, go by offer() together: one, from the beginning of an attachment to its end, or several runs
  /// of a list. 0: none.
  std::size_t takes(std::span<const iovec> next, std::size_t leased) noexcept;
  /// Is told of bytes that takes() left, when they were sent.
  OfferChoice& choice() noexcept { return choice_; }

  // The next step, in this order.

  /// Returns how many bytes from the beginning on are done since this was called last.
  std::size_t take_done() noexcept { return begun_.take_done(); }
  /// True when more may be begun. Rolls back if that is due.
  bool goes_on() noexcept;
  /// Offers from what takes() took, or all of it where it is a list, and sends `before`, which stands before
  /// it, in the same message. False when no more may be offered now; nothing was sent then.
  bool offer(std::span<const iovec> next, std::size_t leased, const BytesBefore& before = {}) noexcept;
  /// Bytes were sent, so many, behind all that is begun.
  void sent(std::size_t bytes) noexcept { begun_.add_sent(bytes); }
  /// There is no credit, place or memory to send what is begun next.
  void cannot_send() noexcept { short_of_credit_ = true; }
  std::size_t begun() const noexcept { return begun_.bytes(); }

  /// The peer's answers. Impossible ones are misbehaviour. Inside a poll.
  void fetched(std::uint32_t bytes) noexcept;
  void declined(std::uint32_t bytes) noexcept;

  bool waits_for_answer() const noexcept { return unanswered_ > 0; }
  /// Asking again gets on, when a message may be sent or not.
  bool may_get_on(bool may_send) const noexcept;

  /// Asks the peer for an answer to all, soon, if that was not done.
  void withdraw(TimePoint now) noexcept;
  /// Returns when that was done last.
  TimePoint withdrawn_at() const noexcept { return withdrawn_at_; }
  /// Ends what was begun, once that answer is here. Returns how much of it is done.
  std::size_t take_back() noexcept;
  /// Nobody reads any more.
  void end() noexcept;

 private:
  bool interrupted() const noexcept { return declined_ || withdrawn_; }
  bool has_room_for(std::size_t bytes) const noexcept;
  bool offer_piece(const void* begin, std::size_t bytes, const BytesBefore& before) noexcept;
  bool offer_list(std::span<const iovec> runs, const BytesBefore& before) noexcept;
  bool send_offer(const BytesBefore& before, std::span<const verbs::RemoteMemory> runs,
                  std::size_t bytes) noexcept;
  void roll_back() noexcept;

  RendezvousQueue& queue_;
  MessageProtocol& protocol_;
  OfferChoice choice_;
  BegunBytes begun_;
  /// Bytes that are offered and not answered.
  std::size_t unanswered_ = 0;
  /// The attachment that is begun next, or of which to_offer_ bytes are, stays registered.
  std::shared_ptr<const Registration> memory_;
  std::size_t to_offer_ = 0;
  bool declined_ = false;
  /// A decline of what was withdrawn is no sign of the peer's memory.
  bool withdrawn_ = false;
  bool again_due_ = false;
  bool short_of_credit_ = false;
  TimePoint withdrawn_at_{};
};

}  // namespace weft::detail::verbs_carrier
