// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "transport/message_protocol.hpp"
#include "transport/verbs/carrier_pair.hpp"
#include "transport/verbs/carrier_terms.hpp"
#include "transport/verbs/loop_device.hpp"
#include "transport/verbs/message_receiver.hpp"
#include "transport/verbs/message_sender.hpp"
#include "transport/verbs/offered_bytes.hpp"
#include "transport/verbs/outgoing_bytes.hpp"
#include "transport/verbs/send_queue.hpp"
#include "weft/detail/transport/carrier_end.hpp"

namespace weft::detail::verbs_carrier {

/// Carries the bytes of a connection over a queue pair. HelloEnd or CmEnd brings the carrier up and connects
/// the pair.
///
/// Bytes travel in messages of up to message_bytes: small ones inside the work request, others copied into
/// registered memory, several at a time, so that one is copied while another is sent. A message is sent only
/// with credit, which stands for a receive at the other side. An attachment in registered memory is offered
/// instead, and fetched by the peer's device; bytes behind it are sent meanwhile.
///
///   send() --> outgoing_ --> offered_   our offers to the peer ---.
///                       '--> sender_    schedules messages     ---+--> send_queue_  posted to the device
///                               ^                                         |
///                               | control                                 | completed
///                               |                                         v
///   receive() <-- receiver_  arrived messages, their receives, and the peer's offers
///
/// shut() destroys the queue pair; the device accesses no memory afterwards. A completion handler never
/// notifies the owner: it records the event and schedules the turn in which deliver() notifies.
class VerbsCarrier final : public Carrier {
 public:
  /// Makes it on the LoopDevice's port, or on `port` if that is not 0. Errors: what the device does not
  /// grant.
  static Result<std::unique_ptr<VerbsCarrier>> make(std::shared_ptr<LoopDevice> loop_device,
                                                    CarrierEndOwner& owner, std::uint8_t port = 0);
  VerbsCarrier(std::shared_ptr<LoopDevice> loop_device, CarrierEndOwner& owner);
  ~VerbsCarrier() override;

  const Capabilities& capabilities() const override;
  std::string description() const override;
  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override;
  ChunkRef receive_in_place(bool& exhausted) override;
  std::size_t skip(std::size_t bytes) override;
  void read_ahead(std::size_t left, LandingsAhead& ahead) override;
  Buffer landing_memory(std::size_t bytes) override;
  Moved send(std::span<const iovec> from, std::size_t leased) override;
  Moved reclaim(Lent what) override;
  bool gives_back_at_once(Lent what) override;
  void end_sending() override;
  bool all_left() const override;
  void catch_up() override;
  void shut() override;

  // For its end.

  LoopDevice& loop_device() const noexcept { return *loop_device_; }
  CarrierPair& pair() noexcept { return pair_; }
  /// Returns the terms that this side says to the peer.
  CarrierTerms terms() const noexcept;
  /// The sender. Its caller passes the peer's terms, and reports that the queue pair and the peer's end are
  /// connected.
  MessageSender& sender() noexcept { return sender_; }
  void fail(Status why) noexcept { turn_.fail(std::move(why)); }

  // For the LoopDevice.

  MessageReceiver& receiver() noexcept { return receiver_; }

 private:
  struct Turn final : CarrierTurn {
    explicit Turn(VerbsCarrier& its) noexcept
        : CarrierTurn(its.loop_device_->loop(),
                      [](Ready* node) noexcept { static_cast<Turn*>(node)->carrier.deliver(); }),
          carrier(its) {}
    VerbsCarrier& carrier;
  };

  Status start(std::uint8_t port);
  void deliver();
  bool is_lost() const noexcept { return turn_.failed() || protocol_.misbehaves(); }
  template <typename Done>
  bool wait_until(Done done, TimePoint latest = TimePoint::max());
  Moved give_up_for_memory();
  void end_pair() noexcept;

  const std::shared_ptr<LoopDevice> loop_device_;
  CarrierEndOwner& bring_up_;
  Turn turn_{*this};
  MessageProtocol protocol_;
  CarrierPair pair_;
  SendQueue send_queue_;
  MessageSender sender_;
  OfferedBytes offered_;
  OutgoingBytes outgoing_;
  MessageReceiver receiver_;
  bool heard_told_ = false;
};

}  // namespace weft::detail::verbs_carrier
