// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "transport/ucx/bring_up_room.hpp"
#include "transport/ucx/conversation.hpp"
#include "transport/ucx/inbox.hpp"
#include "transport/ucx/sender.hpp"
#include "transport/ucx/shared_worker.hpp"
#include "weft/detail/coro/executor.hpp"
#include "weft/detail/transport/carrier_end.hpp"

namespace weft::detail::ucx_carrier {

class Provider;

/// One end of a connection's path over UCX's active messages.
///
/// Bytes travel in messages that UCX copies (eager), within a window that the receiver opens as it receives.
/// The leased bytes of an attachment are requested first and use rendezvous, one part after the other, once
/// the receiver has a place for them, so a part waits only for UCX. Sender and Inbox implement this;
/// UcxCarrier creates both, notifies the owner of UCX's events, and ends both.
///
/// The connecting side has its worker from the start and sends its address. The accepting side creates its
/// worker only when it knows the peer's address, because any stranger may ask for UCX, and sends its own
/// address afterwards.
///
/// UCX holds memory of ours while a CarrierOperation is in flight; shut() returns only when none is. A UCX
/// callback never notifies the owner: it records the event and schedules told_.
class UcxCarrier final : public CarrierEnd, public Carrier, private BringUpRoom::Guest {
 public:
  UcxCarrier(const Provider& provider, Loop& loop, CarrierEndOwner& owner);
  ~UcxCarrier() override;

  /// Gets a worker, so that there is an address. Errors: those of Provider::worker_for().
  Status get_worker();

  const Capabilities& capabilities() const override { return capabilities_; }
  std::string description() const override { return sender_.description(); }
  bool has_address() const override { return shared_ != nullptr; }
  std::string address() const override;
  Status connect(std::string_view peer_address) override;
  bool connecting() const override { return !waiting_for_.empty(); }
  Carrier& carrier() override { return *this; }
  Moved receive(std::span<const iovec> into, std::span<const iovec> landing) override {
    return inbox_.receive(into, landing);
  }
  ChunkRef receive_in_place(bool& exhausted) override { return inbox_.receive_in_place(exhausted); }
  Moved send(std::span<const iovec> from, std::size_t leased) override { return sender_.send(from, leased); }
  Moved reclaim(Lent what) override;
  bool gives_back_at_once(Lent what) override;
  void end_sending() override;
  bool all_left() const override;
  void catch_up() override;
  void shut() override;

  /// Returns what the shared worker hands arrivals to, inside progress.
  Inbox& inbox() noexcept { return inbox_; }
  /// The worker has ended: UCX touches nothing of ours any more.
  void on_worker_gone() noexcept;

 private:
  struct Told : Ready {
    explicit Told(UcxCarrier& its) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Told*>(node)->carrier.tell(); }), carrier(its) {}
    UcxCarrier& carrier;
  };

  Status begin(std::string_view peer_address);
  void on_place(bool given) noexcept override;
  void tell();
  bool anything_flies() const noexcept { return sender_.anything_flies() || inbox_.landing().flies(); }
  bool wait_for(const CarrierOperation& operation, TimePoint give_up_at);
  void insist_on(const CarrierOperation& operation);
  void close_endpoint() noexcept;

  const Provider& provider_;
  /// Owner until the peer's first message.
  CarrierEndOwner* bring_up_;
  const Capabilities capabilities_;
  Told told_{*this};
  Conversation conversation_;
  std::shared_ptr<SharedWorker> shared_;
  std::shared_ptr<BringUpRoom> room_;
  Place place_;
  /// The peer's address, while there is no room to bring it up.
  std::string waiting_for_;
  Sender sender_;
  Inbox inbox_;
};

}  // namespace weft::detail::ucx_carrier
