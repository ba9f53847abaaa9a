// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "transport/message_protocol.hpp"
#include "transport/verbs/inbox.hpp"
#include "transport/verbs/registrations.hpp"
#include "transport/verbs/rendezvous_queue.hpp"
#include "weft/detail/coro/ring.hpp"
#include "weft/detail/transport/carrier.hpp"
#include "weft/detail/transport/landings_ahead.hpp"

namespace weft::detail::verbs_carrier {

/// The peer's offers, each of which has its place in the inbox, and the reads by which our device fetches
/// them.
///
///   kWaits --begin_reads() into the landing--> kIsRead --on_read()--> kRead --told: fetched--> gone
///      |
///      |--skip(): nobody wants it: told: fetched--> gone
///      '--no landing that the device knows, or withdrawn: told: declined--> gone
///
/// A read has one place at the peer, and fills up to `segments_max` runs of a landing. So an offer that
/// names several runs consists of as many parts, one whose landing has more runs is parted, and each part
/// goes that way on its own. Parts of an offer have one place in the inbox together, and are told together,
/// as far as they were read.
///
/// What stands behind the landing may be read ahead, each offer whole or not at all, to the place that it
/// will land in. It stays where it is in the inbox, and is answered and reported when its turn comes.
///
/// They begin to be read in their order, so those that wait are behind the others. What stands in the inbox
/// behind one that is declined was for the bytes after it, and goes with it; so does all that comes:
///
///   taking --an offer is declined--> declining: all is dropped --the peer's kAgain--> taking
///
/// Answers are noted in the protocol; who calls sends them. Thread: its loop's.
class FetchedOffers {
 public:
  /// Throws std::bad_alloc.
  FetchedOffers(Inbox& inbox, Registrations::View& registrations, RendezvousQueue& queue,
                MessageProtocol& protocol, std::size_t segments_max);

  bool empty() const noexcept { return offers_.empty(); }

  // Inside a poll.

  /// An offer came. Impossible ones are misbehaviour.
  void offered(Bytes content) noexcept;
  /// The peer asks for an answer to all of them, soon: those that wait were declined, and the rest is
  /// answered as soon as it was read.
  void withdrawn() noexcept;
  /// The peer does not know yet that something was declined: all that comes is to be dropped.
  bool declining() const noexcept { return declining_; }
  /// The peer knows, and begins again where the first was that was declined. Misbehaviour if there was none.
  void comes_again() noexcept;
  /// The peer has its answers, so that it may end.
  bool may_end() noexcept { return !declining_ && counted().unanswered == 0; }
  /// The peer waits for the answer to some of them, which it wants back.
  bool are_awaited() noexcept;
  /// The first one that is being read was read.
  void on_read() noexcept;

  /// The inbox begins with an offer: the next step of fetching into `landing`, one call begins to read, a
  /// later one reports it. `whole`: the landing is listed to its end. Nothing when the landing does not go on
  /// with memory that the device knows: what waits is to be declined.
  std::optional<Moved> fetch(std::span<const iovec> landing, bool whole) noexcept;
  /// Declines all offers that wait, and drops what stands behind the first of them; `give_back` gets the
  /// slots.
  template <typename GiveBack>
  void decline_what_waits(GiveBack give_back) noexcept {
    while (!offers_.empty() && offers_.back().state == Offer::State::kWaits) {
      if (inbox_.back().kind == Inbox::Kind::kOffer) {
        decline_last();
      } else {
        const Inbox::Arrival last = inbox_.back();
        inbox_.pop_back();
        if (last.kind == Inbox::Kind::kBytes) give_back(last.slot);
      }
    }
  }
  /// Begins to read what is offered behind the landing as well, of which `left` bytes are to come, if all of
  /// these are offered and being read: it goes attachment by attachment, each of which is one offer and has
  /// one message before it, whose bytes `at` gives. `ahead` says where they land, and fetch() is given the
  /// same place when their turn comes, or skip() is called.
  template <typename At>
  void read_ahead(std::size_t left, LandingsAhead& ahead, At at) {
    std::size_t offer = behind_landing(left);
    std::size_t place = inbox_.offers_in_front();
    while (offer != 0) {
      const Inbox::Arrival* const between = inbox_.between_offers(place);
      if (between == nullptr) return;
      offer = read_whole(offer, ahead.next(at(*between)), ahead);
      place += 2;
    }
  }
  /// Nobody wants the next `bytes`: those that are offered at the beginning count as fetched. Returns how
  /// many.
  std::size_t skip(std::size_t bytes) noexcept;
  /// True while the device reads into the landing or, with `ahead`, into any memory.
  bool reads_under_way(bool ahead = true) noexcept;
  /// The landing is not read into, and not used any more. Returns how much has landed and was not
  /// reported.
  std::size_t take_landing_back() noexcept { return pop_what_is_read(); }
  /// The device reads nothing any more.
  void end() noexcept;

 private:
  /// An offer, or a part of one.
  struct Offer {
    enum class State : std::uint8_t { kWaits, kIsRead, kRead };
    verbs::RemoteMemory from{};
    State state = State::kWaits;
    bool withdrawn = false;  ///< the peer is told of its end as soon as it is read
    bool told = false;
    bool goes_on = false;         ///< the next one is a part of the same offer
    const void* place = nullptr;  ///< where it is or was read to
    /// Keeps the landing registered while the device reads into it.
    std::shared_ptr<const Registration> landing{};
  };
  class Landing;
  class Batch;

  struct Counted {
    std::size_t kept = 0;
    std::size_t unanswered = 0;
    std::uint64_t unanswered_bytes = 0;
  };

  Counted counted() noexcept;
  bool has_room(std::size_t more) noexcept;
  void decline(std::uint64_t bytes) noexcept;
  void decline_last() noexcept;
  bool begin_reads(std::span<const iovec> landing, bool whole) noexcept;
  bool list(Batch& batch, Landing landing, bool whole) noexcept;
  std::uint64_t list_part(Batch& batch, Landing& landing, std::uint64_t bytes) noexcept;
  bool part(std::size_t index, std::uint64_t bytes) noexcept;
  bool begin(const Batch& batch) noexcept;
  std::size_t behind_landing(std::size_t left) noexcept;
  std::size_t read_whole(std::size_t index, std::uint64_t bytes, LandingsAhead& ahead);
  std::size_t parts_in_front() noexcept;
  void tell_fetched(Offer& offer) noexcept;
  void tell_untold() noexcept;
  std::size_t pop_what_is_read() noexcept;
  std::size_t pop_front() noexcept;

  Inbox& inbox_;
  Registrations::View& registrations_;
  RendezvousQueue& queue_;
  MessageProtocol& protocol_;
  const std::size_t segments_max_;
  weft::detail::Ring<Offer> offers_;
  /// Bytes of parts that were read, of an offer that was not read whole.
  std::uint32_t untold_ = 0;
  bool declining_ = false;
};

}  // namespace weft::detail::verbs_carrier
