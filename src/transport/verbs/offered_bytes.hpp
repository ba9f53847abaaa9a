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

/// Our offers to the peer: an attachment in registered memory is not copied into messages but offered, part
/// by part, and read by the peer's device. Short runs of a list in one registration are offered together.
/// Bytes behind an offer are sent meanwhile, in messages and offers. All started bytes form the front of the
/// send order:
///
///   |<-------------------------- started ---------------------------->|
///   | offered | sent | offered | offered | sent | offered | sent ... |  started next
///   '-- fetched: take_done() reports it and the sent bytes behind it, and removes both
///
/// The peer answers each offer once: fetched to the first ones, declined to the rest. It has taken nothing
/// that follows a declined offer:
///
///   normal --declined(), withdraw()--> interrupted --all answered--> rolled back --kAgain--> normal
///
/// While interrupted, nothing more is started. After the rollback the started bytes end where the first
/// declined offer began; everything behind is sent again, and kAgain tells the peer where it restarts. After
/// a decline the rest of the attachment is copied, and later attachments are offered less often. After a
/// withdrawal without effect, all started bytes are copied. Only an answer returns memory. Thread: the
/// loop's.
class OfferedBytes {
 public:
  /// Throws std::bad_alloc.
  OfferedBytes(Registrations::View& registrations, RendezvousQueue& queue, MessageProtocol& protocol,
               OfferChoice::Limits limits);

  /// Nothing is begun, and nothing has to be done before something is.
  bool idle() const noexcept { return begun() == 0 && !interrupted() && !again_due_; }
  /// Returns how many pieces of `next` offer() takes together: one attachment from its beginning to its end,
  /// or several runs of a list; 0 if none. `next` lists the bytes that are started next, and its first
  /// `leased` bytes are leased.
  std::size_t takes(std::span<const iovec> next, std::size_t leased) noexcept;
  /// The choice between offers and copies. The caller reports sent bytes that takes() declined to offer.
  OfferChoice& choice() noexcept { return choice_; }

  // The next step, in this order.

  /// Returns how many bytes from the beginning on are done since this was called last.
  std::size_t take_done() noexcept { return begun_.take_done(); }
  /// True when more may be begun. Rolls back if that is due.
  bool goes_on() noexcept;
  /// Offers from what takes() took, or all of it where it is a list, and sends `before`, which stands before
  /// it, in the same message. False when no more may be offered now; nothing was sent then.
  bool offer(std::span<const iovec> next, std::size_t leased, const BytesBefore& before = {}) noexcept;
  /// Records that `bytes` were sent behind all started bytes.
  void sent(std::size_t bytes) noexcept { begun_.add_sent(bytes); }
  /// Records that no credit, send queue entry or memory is available for the next bytes.
  void cannot_send() noexcept { short_of_credit_ = true; }
  std::size_t begun() const noexcept { return begun_.bytes(); }

  /// The peer's answers. Impossible ones are misbehaviour. Inside a poll.
  void fetched(std::uint32_t bytes) noexcept;
  void declined(std::uint32_t bytes) noexcept;

  bool waits_for_answer() const noexcept { return unanswered_ > 0; }
  /// True if another attempt can make progress. `may_send`: a message may be sent now.
  bool may_get_on(bool may_send) const noexcept;

  /// Asks the peer for an answer to all, soon, if that was not done.
  void withdraw(TimePoint now) noexcept;
  /// Returns when that was done last.
  TimePoint withdrawn_at() const noexcept { return withdrawn_at_; }
  /// Removes the started bytes once the peer has answered. Returns how many of them are done.
  std::size_t take_back() noexcept;
  /// Ends all offers: no device reads them any more.
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
  /// Registration of the next attachment, or of the current one with to_offer_ bytes left.
  std::shared_ptr<const Registration> memory_;
  std::size_t to_offer_ = 0;
  bool declined_ = false;
  /// True after a withdrawal: a decline then does not indicate a lack of memory at the peer.
  bool withdrawn_ = false;
  bool again_due_ = false;
  bool short_of_credit_ = false;
  TimePoint withdrawn_at_{};
};

}  // namespace weft::detail::verbs_carrier
