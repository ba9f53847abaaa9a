// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/message_protocol.hpp"
#include "transport/verbs/carrier_terms.hpp"
#include "transport/verbs/fetched_notice.hpp"
#include "transport/verbs/rendezvous_queue.hpp"
#include "transport/verbs/send_queue.hpp"

namespace weft::detail::verbs_carrier {

/// Decides when messages of a carrier go to the device: data when credit and a send queue entry are
/// available, control messages as soon as possible.
///
///   made --connected()--> connected --peer_ready()--> open: sent messages arrive
///
/// Before the open state, control messages wait, and data is sent only after a message of the peer arrived.
/// Thread: the loop's.
class MessageSender final : public RendezvousQueue {
 public:
  MessageSender(MessageProtocol& protocol, SendQueue& queue, CarrierTurn& turn) noexcept
      : protocol_(protocol), queue_(queue), turn_(turn) {}
  MessageSender(const MessageSender&) = delete;
  MessageSender& operator=(const MessageSender&) = delete;

  void take_terms(const CarrierTerms& peers) noexcept;
  void connected() noexcept;
  bool is_connected() const noexcept { return connected_; }
  /// Records that the peer's end is connected. Messages sent before that are lost.
  void peer_ready() noexcept;

  /// The longest message that the peer takes, head included.
  std::size_t peer_message_bytes() const noexcept { return peer_message_bytes_; }
  /// True when bytes may be sent, and also after a failure, which posting meets then.
  bool may_send_bytes() const noexcept {
    return turn_.failed() || (protocol_.may_send_bytes() && queue_.has_place());
  }
  /// Sends the first `bytes` of `from` in a message. False when nothing was sent.
  bool send_bytes(std::span<const iovec> from, std::size_t bytes) noexcept {
    return may_send_bytes() && post_bytes(MessageKind::kBytes, from, bytes);
  }
  bool send_offer(const BytesBefore& before, std::span<const verbs::RemoteMemory> runs) noexcept override;
  bool send_again() noexcept override;
  std::size_t places_for_reads() const noexcept override { return queue_.places_for_reads(); }
  std::size_t begin_reads(std::span<const ReadRequest> reads) noexcept override {
    return queue_.begin_reads(reads);
  }

  /// Lets the report about fetched data wait until the end of the turn, to go with bytes that are sent
  /// before.
  void let_fetched_wait() noexcept { notice_.begin(); }
  /// Stops the delay of the notice, because a sender waits for it.
  void hurry() noexcept {
    notice_.end();
    send_control_if_wanted();
  }
  /// Sends the control messages that are due, as far as they may be now.
  void send_control() noexcept;
  /// The same, for where mostly none is due.
  void send_control_if_wanted() noexcept {
    if (protocol_.wanted() != 0) [[unlikely]]
      send_control();
  }
  /// Both sides have ended sending and answered the other's end, and the device is done.
  bool all_left() const noexcept;

 private:
  bool post_bytes(MessageProtocol::Control message, std::span<const iovec> from, std::size_t bytes) noexcept {
    if (!queue_.post(message, from, bytes)) return false;
    notice_.end();  // the same message reports them
    return true;
  }

  MessageProtocol& protocol_;
  SendQueue& queue_;
  CarrierTurn& turn_;
  FetchedNotice notice_{protocol_, turn_,
                        [](void* its) noexcept { static_cast<MessageSender*>(its)->send_control(); }, this};
  std::size_t peer_message_bytes_ = 0;
  bool connected_ = false;
  bool peer_ready_ = false;
};

}  // namespace weft::detail::verbs_carrier
