// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "transport/message_protocol.hpp"
#include "transport/ucx/active_message.hpp"
#include "transport/ucx/inbox.hpp"
#include "transport/ucx/shared_worker.hpp"
#include "weft/coro/executor.hpp"
#include "weft/transport/carrier_end.hpp"
#include "weft/ucx/endpoint.hpp"

namespace weft::ucx_carrier {

/// One end of a connection's way over UCX's active messages.
///
/// Bytes travel in messages that UCX copies (eager), bounded by a window that the receiver opens by saying
/// what it has received. An attachment's leased bytes are asked for first, and go by rendezvous, one piece
/// after the other, once the receiver has a place for them: a piece never waits for anybody but UCX.
///
/// What UCX was given (operations in flight) is in `sending_`, `landing_`, `controls_` and `flush_`; shut()
/// returns only when none is left. Nothing is told to the owner inside a callback of UCX: those only note and
/// schedule deliver_.
class UcxCarrier final : public CarrierEnd, public Carrier {
 public:
  UcxCarrier(std::shared_ptr<SharedWorker> shared, CarrierEndOwner& owner, const UcxOptions& options);
  ~UcxCarrier() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  std::string description() const override { return endpoint_.description(); }
  std::string address() const override;
  Status connect(std::string_view peer_address) override;
  Carrier& carrier() override { return *this; }
  Moved receive(std::span<const iovec> into, MutableBytes landing) override;
  ChunkRef receive_in_place(bool& exhausted) override;
  Moved reclaim_landing() override;
  Moved send(std::span<const iovec> from, std::size_t leased) override;
  Moved reclaim_sending() override;
  void end_sending() override;
  bool all_left() const override;
  void catch_up() override;
  void shut() override;

  /// For the shared worker, inside progress. True: `data` stays ours.
  bool arrived(const MessageHeader& header, void* data, std::size_t bytes, std::uint64_t attributes) noexcept;
  /// The worker has ended: UCX touches nothing of ours any more.
  void on_worker_gone() noexcept;

 private:
  struct Deliver : Ready {
    explicit Deliver(UcxCarrier& its) noexcept
        : Ready([](Ready* node) noexcept { static_cast<Deliver*>(node)->carrier.deliver(); }), carrier(its) {}
    UcxCarrier& carrier;
  };
  /// An operation in flight, where UCX finds it again.
  struct Operation {
    UcxCarrier* carrier = nullptr;
    bool active = false;
    bool done = false;
    ucs_status_t status = UCS_OK;
    std::size_t bytes = 0;
    alignas(8) std::byte header[kActiveMessageHeaderBytes];
  };
  /// A message that came before its turn.
  struct Early {
    MessageHeader header;
    Arrival arrival;
  };
  static constexpr std::size_t kControlOperations = 4;

  static void on_sent(void* request, ucs_status_t status, void* operation) noexcept;
  static void on_landed(void* request, ucs_status_t status, std::size_t bytes, void* operation) noexcept;

  void completed(Operation& operation, ucs_status_t status) noexcept;
  void touch() noexcept;
  void deliver();
  bool take_in_order(const MessageHeader& header, const Arrival& arrival) noexcept;
  bool keep_early(const MessageHeader& header, const Arrival& arrival) noexcept;
  bool take_in(const MessageHeader& header, const Arrival& arrival) noexcept;
  void drop(Arrival& arrival) noexcept;
  bool copy_out(Arrival& arrival) noexcept;
  void keep_own_copies() noexcept;
  void forget_arrivals() noexcept;

  bool accept(const MessageHeader& header, std::size_t bytes, bool rendezvous) noexcept;
  void misbehaved(const char* what) noexcept;

  Moved take_bytes(std::span<const iovec> into);
  Moved take_piece(MutableBytes landing);
  Moved landed();
  bool lands_in_place() noexcept {
    return !inbox_.empty() && inbox_.front().memory == Arrival::Memory::kNone;
  }
  void taken(const Arrival& arrival) noexcept;

  ucs_status_t post(Operation& operation, const MessageHeader& header, const void* data,
                    std::size_t bytes) noexcept;
  ucs_status_t note(Operation& operation, ucs_status_ptr_t answer) noexcept;
  Moved sent();
  Moved send_piece(const iovec& from, std::size_t leased);
  void want_control(MessageKind kind, std::uint32_t amount = 0) noexcept;
  void send_control() noexcept;
  void flush() noexcept;
  std::size_t room() const noexcept;
  bool has_place() const noexcept {
    return asked_ && !protocol_.wants(MessageKind::kAsk) && places_ == asks_;
  }

  bool wait_for(const Operation& operation, Duration at_most);
  void insist_on(const Operation& operation);
  bool anything_in_flight() const noexcept;
  void fail(ucs_status_t status) noexcept;
  void close_endpoint() noexcept;
  Status failure() const;

  const std::shared_ptr<SharedWorker> shared_;
  CarrierEndOwner& bring_up_;
  const UcxOptions& options_;
  Capabilities capabilities_;
  const Place place_;
  Deliver deliver_{*this};
  ucx::Endpoint endpoint_;
  std::uint32_t peer_slot_ = 0;
  std::uint32_t peer_key_ = 0;
  ucs_status_t failed_ = UCS_OK;
  MessageProtocol protocol_;

  // Receiving.
  Inbox inbox_;
  std::map<std::uint32_t, Early> early_;
  /// Where the piece at the front of the inbox is received to, which may be a copy of the inbox's own.
  Operation landing_;
  bool heard_told_ = false;
  std::uint32_t asks_queued_ = 0;
  std::uint32_t pieces_queued_ = 0;
  bool piece_expected_ = false;

  // Sending.
  Operation sending_;
  std::array<Operation, kControlOperations> controls_;
  Operation flush_;
  /// The bytes at the front were asked for by the last of `asks_`; every ask is answered, also one whose
  /// bytes went another way meanwhile.
  bool asked_ = false;
  std::uint32_t asks_ = 0;
  std::uint32_t places_ = 0;
  bool send_blocked_ = false;
  /// After both ends were told to have been received. Only then may a side close its endpoint: UCX cancels
  /// what is still landing at the other one.
  bool flushed_ = false;
  bool shut_ = false;
};

}  // namespace weft::ucx_carrier
