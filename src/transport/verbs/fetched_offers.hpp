// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "transport/message_protocol.hpp"
#include "transport/verbs/inbox.hpp"
#include "transport/verbs/registrations.hpp"
#include "transport/verbs/rendezvous_queue.hpp"
#include "weft/detail/coro/ring.hpp"
#include "weft/detail/transport/carrier.hpp"

namespace weft::detail::verbs_carrier {

/// The peer's offers, each of which has its place in the inbox, and the reads by which our device fetches
/// them.
///
///   kWaits --begin_read() into the landing--> kIsRead --on_read()--> kRead --told: fetched--> gone
///      |
///      |--skip(): nobody wants it: told: fetched--> gone
///      '--no landing that the device knows, or withdrawn: told: declined--> gone
///
/// They begin to be read in their order, so those that wait are behind the others. What stands in the inbox
/// behind one that is declined was for the bytes after it, and goes with it; so does all that comes:
///
///   taking --an offer is declined--> declining: all is dropped --the peer's kAgain--> taking
///
/// Answers are noted in the protocol; who calls sends them. Thread: its loop's.
class FetchedOffers {
 public:
  FetchedOffers(Inbox& inbox, Registrations::View& registrations, RendezvousQueue& queue,
                MessageProtocol& protocol);

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
  bool may_end() noexcept { return !declining_ && unanswered().offers == 0; }
  /// The first one that is being read was read.
  void on_read() noexcept;

  /// The inbox begins with an offer: the next step of fetching into `landing`, one call begins to read, a
  /// later one reports it. Nothing when there is no landing that the device knows: it is to be declined. With
  /// `goes_on` the landing is one run of several: an offer that reaches into the next one is declined, too.
  std::optional<Moved> fetch(MutableBytes landing, bool goes_on = false) noexcept;
  /// Declines all offers that wait, and drops what stands behind the first of them; `give_back` gets the
  /// slots.
  template <typename GiveBack>
  void decline_what_waits(GiveBack give_back) noexcept {
    while (!offers_.empty() && offers_.back().state == Offer::State::kWaits) {
      const Inbox::Arrival last = inbox_.back();
      inbox_.pop_back();
      if (last.kind == Inbox::Kind::kBytes) give_back(last.slot);
      if (last.kind != Inbox::Kind::kOffer) continue;
      decline(offers_.back().from);
      offers_.pop_back();
    }
  }
  /// Nobody wants the next `bytes`: those that are offered at the beginning count as fetched. Returns how
  /// many.
  std::size_t skip(std::size_t bytes) noexcept;
  bool reads_under_way() noexcept;
  /// No read is under way, and the landing is not used any more. Returns how much has landed and was not
  /// reported.
  std::size_t take_landing_back() noexcept;
  /// The device reads nothing any more.
  void end() noexcept { landing_.reset(); }

 private:
  struct Offer {
    enum class State : std::uint8_t { kWaits, kIsRead, kRead };
    verbs::RemoteMemory from;
    State state = State::kWaits;
    bool withdrawn = false;  ///< the peer is told of its end as soon as it is read
    bool told = false;
  };

  struct Unanswered {
    std::size_t offers = 0;
    std::uint64_t bytes = 0;
  };

  Unanswered unanswered() noexcept;
  bool knows(MutableBytes landing) noexcept;
  void decline(const verbs::RemoteMemory& offered) noexcept;
  void begin_reads(MutableBytes landing, bool goes_on) noexcept;
  void tell_fetched(Offer& offer) noexcept;
  std::size_t pop_read() noexcept;
  void pop_front() noexcept;

  Inbox& inbox_;
  Registrations::View& registrations_;
  RendezvousQueue& queue_;
  MessageProtocol& protocol_;
  weft::detail::Ring<Offer> offers_;
  /// Keeps the landing registered while the device reads into it.
  std::shared_ptr<const Registration> landing_;
  bool declining_ = false;
};

}  // namespace weft::detail::verbs_carrier
