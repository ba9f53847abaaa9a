// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/message_protocol.hpp"
#include "transport/verbs/carriers_by_pair.hpp"
#include "transport/verbs/fetched_offers.hpp"
#include "transport/verbs/inbox.hpp"
#include "transport/verbs/message_sender.hpp"
#include "transport/verbs/offered_bytes.hpp"
#include "transport/verbs/promised_receives.hpp"
#include "weft/detail/memory/chunk_pool.hpp"
#include "weft/detail/transport/carrier.hpp"

namespace weft::detail::verbs_carrier {

class LoopDevice;

/// Accepts the messages of a carrier, validates them, and keeps them until they are received.
///
///   a message arrives --arrived()--> control: processed at once, its slot is returned
///                         |
///                         '--> bytes: its slot waits in the inbox --receive()--> copied, returned
///                                              |
///                                              '--receive_in_place()--> lent --lent_returned()--> returned
///
/// Control messages that result from these steps are sent before each call returns. Thread: the loop's.
class MessageReceiver final : private ReadOwner {
 public:
  MessageReceiver(LoopDevice& loop_device, MessageProtocol& protocol, MessageSender& sender,
                  OfferedBytes& offered, CarrierTurn& turn);

  PromisedReceives& promised() noexcept { return promised_; }
  FetchedOffers& offers() noexcept { return offers_; }
  ReadOwner& reads() noexcept { return *this; }
  bool empty() const noexcept { return inbox_.empty(); }

  /// A message has arrived in a slot, which is this carrier's until it is given back. Called inside a poll.
  void arrived(std::uint32_t slot, std::size_t bytes) noexcept;
  /// A slot that was lent is back with the pool.
  void lent_returned() noexcept;

  Moved receive(std::span<const iovec> into, std::span<const iovec> landing);
  /// Fetches offers behind the current landing, with `left` bytes still missing.
  void read_ahead(std::size_t left, LandingsAhead& ahead);
  /// `name` is the carrier's.
  ChunkRef receive_in_place(const CarrierName& name, bool& exhausted);
  /// Skips the next `bytes` because their landing was given up: offered bytes among them are not fetched.
  /// Returns the number of skipped bytes.
  std::size_t skip(std::size_t bytes) noexcept;
  /// Nothing comes any more: gives all slots back that are not lent.
  void end() noexcept;

 private:
  void on_read() noexcept override;
  bool take_in(std::uint32_t slot, std::size_t bytes) noexcept;
  bool take_kind(const MessageHeader& header, std::uint32_t slot, Bytes content) noexcept;
  bool take_offer(const MessageHeader& header, std::uint32_t slot, Bytes content) noexcept;
  bool keep(std::uint32_t slot, std::size_t bytes) noexcept;
  void give_back(std::uint32_t slot) noexcept;
  std::size_t copy(std::span<const iovec> into) noexcept;
  Moved fetch(std::span<const iovec> into, std::span<const iovec> landing);
  void let_fetched_wait() noexcept;
  void decline_what_waits() noexcept;
  bool about_an_offer() const noexcept { return offered_.waits_for_answer() || !offers_.empty(); }

  LoopDevice& loop_device_;
  MessageProtocol& protocol_;
  MessageSender& sender_;
  OfferedBytes& offered_;
  CarrierTurn& turn_;
  Inbox inbox_;
  PromisedReceives promised_;
  FetchedOffers offers_;
};

}  // namespace weft::detail::verbs_carrier
