// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "transport/message_protocol.hpp"
#include "transport/verbs/carrier_terms.hpp"
#include "transport/verbs/loop_device.hpp"
#include "weft/coro/executor.hpp"
#include "weft/coro/ring.hpp"
#include "weft/transport/carrier_end.hpp"

namespace weft::verbs_carrier {

/// One end of a connection's way over a queue pair.
///
/// Bytes travel in messages of up to message_bytes: small ones inside the work request, others copied into
/// registered memory, several at a time, so that one is copied while another is sent. A message is sent only
/// with credit, which stands for a receive at the other side. An attachment in memory that the device knows
/// is offered instead, and fetched by the other side's device (verbs_carrier_rendezvous.cpp).
///
/// What the device was given is in `sent_messages_`; shut() destroys the queue pair, after which the device
/// touches nothing. Nothing is told to the owner inside a completion: those only note and schedule deliver_.
class VerbsCarrier final : public CarrierEnd,
                           public Carrier,
                           public ListHook<StarvedTag>,
                           public ListHook<SpareTag>,
                           private verbs::CompletionHandler {
 public:
  /// By the LoopDevice's port, or by `port` if that is not 0. Errors: what the device does not grant.
  static Result<std::unique_ptr<VerbsCarrier>> make(std::shared_ptr<LoopDevice> loop_device,
                                                    CarrierEndOwner& owner, std::uint8_t port = 0);
  VerbsCarrier(std::shared_ptr<LoopDevice> loop_device, CarrierEndOwner& owner);
  ~VerbsCarrier() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  std::string description() const override;
  std::string address() const override;
  Status connect(std::string_view peer_address) override;
  bool connecting() const override { return !connected_; }
  bool needs_peer_ready() const override { return true; }
  void on_peer_ready() override;
  Carrier& carrier() override { return *this; }
  Moved receive(std::span<const iovec> into, MutableBytes landing) override;
  ChunkRef receive_in_place(bool& exhausted) override;
  Moved reclaim_landing() override;
  Buffer landing_memory(std::size_t bytes) override;
  Moved send(std::span<const iovec> from, std::size_t leased) override;
  Moved reclaim_sending() override;
  void end_sending() override;
  bool all_left() const override;
  void catch_up() override;
  void shut() override;

  // Instead of address() and connect(), for whoever connects the queue pair by other means.

  void take_terms(const CarrierTerms& peers) noexcept;
  verbs::QueuePair& pair() const noexcept { return *pair_; }
  WayFinder& ways() const noexcept { return loop_device_->ways(); }
  const ibv_device_attr& device_attributes() const noexcept {
    return loop_device_->protection()->device().attributes();
  }
  Status connect_by(const verbs::Transition& to_receive, const verbs::Transition& to_send);

  // For the LoopDevice.

  /// Inside a poll. The slot is this carrier's until it is given back.
  void arrived(std::uint32_t slot, std::size_t bytes) noexcept;
  /// A slot that was lent out is back with the LoopDevice.
  void lent_returned() noexcept;
  std::uint32_t queue_pair() const noexcept { return pair_->number(); }
  std::uint64_t serial() const noexcept { return serial_; }
  /// Our queue pair and the peer's, for people.
  std::string who() const;
  /// There may be memory to send from, or a receive to promise.
  void served() noexcept { touch(); }
  void fail(Status why) noexcept;
  /// Asks the peer for what it does not need. False when it holds no more than its due.
  bool reclaim() noexcept;

 private:
  struct Deliver : Ready {
    explicit Deliver(VerbsCarrier& its) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Deliver*>(node)->carrier.deliver(); }), carrier(its) {}
    VerbsCarrier& carrier;
  };
  /// Data that is received next: the rest of a message with bytes, the peer's end, or the next one of
  /// `offers_`.
  struct Arrival {
    enum class Kind : std::uint8_t { kBytes, kOffer, kEnd };
    Kind kind = Kind::kBytes;
    std::uint32_t slot = 0;
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  /// A message that the device was given, and the memory it lies in; or a read, for the first of `offers_`
  /// that is being read.
  struct Sent {
    enum class Memory : std::uint8_t { kNone, kBytes, kControl, kLanding };
    Memory memory = Memory::kNone;
    std::uint32_t slot = 0;
  };
  /// Bytes that the peer offers to be fetched.
  struct Offer {
    enum class State : std::uint8_t { kWaits, kIsRead, kRead };
    verbs::RemoteMemory from;
    State state = State::kWaits;
    bool withdrawn = false;  ///< the peer is told of its end as soon as it is read
    bool told = false;
  };
  /// Offer to the peer: the beginning of the bytes that are to be sent.
  struct Offering {
    std::shared_ptr<const Registration> memory;
    std::size_t bytes = 0;
    std::size_t fetched = 0;  ///< of them, from their beginning; send() has not reported it
    std::size_t to_copy = 0;  ///< so much of what is to be sent next is not offered
    bool declined = false;    ///< nothing more of this attachment is offered
    bool reclaimed = false;   ///< what is declined now is no sign of the peer's memory
    bool short_of_credit = false;
    unsigned declines = 0;  ///< in a row
    unsigned left_out = 0;  ///< so many attachments more are not offered
  };

  Status start(std::uint8_t port);
  verbs::ConnectOptions connect_options() const;
  Status connected(Status status);
  void on_completion(std::uint32_t sequence, const ibv_wc& completion) noexcept override;
  void on_queue_failed() noexcept override;
  Status connect_pair(const verbs::AddressInfo& peer, const verbs::ConnectOptions& how);
  void end_pair();
  bool retire_pair() noexcept;
  void touch() noexcept;
  void deliver();
  void misbehaved(const char* what) noexcept;

  // Receiving.
  std::size_t in_use() const noexcept { return protocol_.credit().peer_may_send() + held_; }
  bool take_in(std::uint32_t slot, std::size_t bytes) noexcept;
  bool take_kind(const MessageHeader& header, Bytes content) noexcept;
  void take_return(std::uint32_t credits) noexcept;
  void done_with(std::uint32_t slot) noexcept;
  void slot_returned() noexcept;
  void grant() noexcept;
  void tell_credit_if_due() noexcept;

  // Fetching what is offered.
  void take_offer(Bytes content) noexcept;
  void take_withdrawal() noexcept;
  Moved fetch(std::span<const iovec> into, MutableBytes landing);
  bool decline_if_unknown(MutableBytes landing) noexcept;
  void decline(const verbs::RemoteMemory& offered) noexcept;
  void begin_reads(MutableBytes landing) noexcept;
  bool read(const verbs::RemoteMemory& from, std::byte* to) noexcept;
  void end_read() noexcept;
  void tell_fetched(Offer& offer) noexcept;
  void pop_offer() noexcept;
  bool reads_under_way() noexcept;

  // Offering.
  bool is_offered(const iovec& front, std::size_t leased) noexcept;
  bool may_be_offered(const iovec& piece) noexcept;
  std::shared_ptr<const Registration> readable_by_peers(Bytes bytes) noexcept;
  Moved offer(const iovec& front, std::size_t leased);
  void take_fetched(std::uint32_t bytes) noexcept;
  void take_decline(std::uint32_t bytes) noexcept;
  bool may_get_on() const noexcept;
  bool waits_for_answer() const noexcept { return offering_.bytes > offering_.fetched; }
  Moved give_up_for_memory();

  // Sending.
  std::size_t sends_under_way() const noexcept { return posted_ - completed_; }
  bool may_send_bytes() const noexcept;
  bool post(MessageProtocol::Control message, std::span<const iovec> from, std::size_t bytes) noexcept;
  bool give_to_device(ibv_send_wr& request, ibv_sge segment) noexcept;
  void completed_up_to(std::uint32_t end) noexcept;
  void release(const Sent& sent) noexcept;
  bool signal_due() const noexcept;
  void want_control(MessageKind kind, std::uint32_t amount = 0) noexcept;
  void send_control() noexcept;

  std::shared_ptr<LoopDevice> loop_device_;
  CarrierEndOwner& bring_up_;
  const VerbsOptions& options_;  // the LoopDevice's
  Capabilities capabilities_;
  const std::uint64_t serial_;
  Deliver deliver_{*this};
  std::unique_ptr<verbs::QueuePair> pair_;
  verbs::AddressInfo peer_;
  /// The way to the peer is looked for, before the queue pair is connected.
  WayFinder::Search search_;
  bool connected_ = false;
  bool by_cm_ = false;
  /// The peer's end is connected: what is sent before gets lost.
  bool peer_ready_ = false;

  MessageProtocol protocol_;

  // What comes. `promised_` of the LoopDevice's receives are this carrier's: at least credits_min.
  weft::detail::Ring<Arrival> inbox_;
  std::size_t held_ = 0;
  std::size_t lent_ = 0;
  std::size_t promised_ = 0;
  bool heard_told_ = false;
  weft::detail::Ring<Offer> offers_;
  /// Keeps the landing registered while the device reads into it.
  std::shared_ptr<const Registration> landing_registration_;
  /// Something was declined: what is offered until the peer sends bytes again crossed that, and does not
  /// begin where the landing does.
  bool declining_ = false;

  // What goes.
  std::size_t peer_message_bytes_ = 0;
  std::uint32_t posted_ = 0;
  std::uint32_t completed_ = 0;
  std::uint32_t unsignalled_ = 0;
  /// Messages that were posted and have not completed, by their number; the size is a power of two.
  std::vector<Sent> sent_messages_;
  Offering offering_;
  bool send_blocked_ = false;

  Status failure_;
  bool shut_ = false;
  /// In the completion queue's list of handlers. Last: a carrier of which a part could not be made is not in
  /// it.
  std::uint32_t place_ = 0;
};

}  // namespace weft::verbs_carrier
