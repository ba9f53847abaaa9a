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

/// The peer's offers, each with its place in the inbox, and the RDMA reads by which our device fetches them.
///
///   kWaits --begin_reads() into the landing--> kIsRead --on_read()--> kRead --report fetched--> gone
///      |
///      |--skip(): the landing was given up: report fetched--> gone
///      '--landing memory not registered, or withdrawn: report declined--> gone
///
/// One read has one remote address and fills up to `segments_max` runs of a landing. So an offer of several
/// runs has one part per run, an offer whose landing has more runs is split further, and each part goes
/// through the states on its own. The parts of an offer share one place in the inbox and are reported
/// together, as far as they were read.
///
/// Offers behind the current landing may be read ahead into their final place, each offer whole or not at
/// all. Such an offer keeps its place in the inbox and is reported in its turn.
///
/// Reads begin in order, so waiting offers are behind the others. Everything in the inbox behind a declined
/// offer depends on the declined bytes and is dropped with it, and so is everything that arrives until the
/// peer restarts:
///
///   taking --an offer is declined--> declining: drops everything --the peer's kAgain--> taking
///
/// This class records answers in the protocol; the caller sends them. Thread: the loop's.
class FetchedOffers {
 public:
  /// Throws std::bad_alloc.
  FetchedOffers(Inbox& inbox, Registrations::View& registrations, RendezvousQueue& queue,
                MessageProtocol& protocol, std::size_t segments_max);

  bool empty() const noexcept { return offers_.empty(); }

  // Inside a poll.

  /// An offer came. Impossible ones are misbehaviour.
  void offered(Bytes content) noexcept;
  /// Records that the peer withdraws its offers and wants an answer to all of them soon: waiting offers are
  /// declined, the others are answered as soon as their reads complete.
  void withdrawn() noexcept;
  /// True while the peer does not know of a declined offer yet: everything that arrives is dropped.
  bool declining() const noexcept { return declining_; }
  /// The peer knows, and begins again where the first was that was declined. Misbehaviour if there was none.
  void comes_again() noexcept;
  /// The peer has its answers, so that it may end.
  bool may_end() noexcept { return !declining_ && counted().unanswered == 0; }
  /// The peer waits for the answer to some of them, which it wants back.
  bool are_awaited() noexcept;
  /// The first one that is being read was read.
  void on_read() noexcept;

  /// Advances the offer at the front of the inbox into `landing`: one call begins the read, a later call
  /// reports its result. `whole`: `landing` lists the landing to its end. Returns nothing when the landing
  /// does not continue in registered memory; the caller then declines the waiting offers.
  std::optional<Moved> fetch(std::span<const iovec> landing, bool whole) noexcept;
  /// Declines all waiting offers, and drops the content after the first of them; `give_back` gets the slots.
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
  /// Begins to read offers behind the current landing, with `left` bytes still missing, once all offers of
  /// the landing are being read. Works attachment by attachment: each is one offer with one message before
  /// it, whose bytes `at` returns. `ahead` returns the landing of each. A later fetch() must pass the same
  /// landing, or skip() must be called.
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
  /// Skips the next `bytes` because their landing was given up: offers at the front count as fetched. Returns
  /// the number of skipped bytes.
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
    bool withdrawn = false;  ///< the peer receives the end of the offer as soon as the read completes
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
