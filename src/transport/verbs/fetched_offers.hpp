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
///      '--no landing that the device knows, or withdrawn: told: declined--> gone
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
  /// The peer asks for an answer to all of them, soon: what was not begun is declined, the rest is answered
  /// as soon as it was read.
  void withdrawn() noexcept;
  /// Bytes came: the peer knows of each decline.
  void bytes_came() noexcept { declining_ = false; }
  /// The first one that is being read was read.
  void on_read() noexcept;

  /// The inbox begins with an offer: the next step of fetching into `landing`, one call begins to read, a
  /// later one reports it. Nothing when all offers at the beginning were declined, for there is no landing
  /// that the device knows.
  std::optional<Moved> fetch(MutableBytes landing) noexcept;
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

  std::size_t unanswered() noexcept;
  bool knows(MutableBytes landing) noexcept;
  void decline_all_in_front() noexcept;
  void decline(const verbs::RemoteMemory& offered) noexcept;
  void begin_reads(MutableBytes landing) noexcept;
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
  /// Something was declined: what is offered until the peer sends bytes again crossed that, and does not
  /// begin where the landing does.
  bool declining_ = false;
};

}  // namespace weft::detail::verbs_carrier
