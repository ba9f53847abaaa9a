// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/message_sender.hpp"

#include <array>
#include <utility>

namespace weft::detail::verbs_carrier {

void MessageSender::take_terms(const CarrierTerms& peers) noexcept {
  peer_message_bytes_ = peers.message_bytes;
  protocol_.credit().take_terms(peers.granted);
}

void MessageSender::connected() noexcept {
  connected_ = true;
  send_control();
}

void MessageSender::peer_ready() noexcept {
  if (std::exchange(peer_ready_, true)) return;
  protocol_.want(MessageKind::kProbe);
  send_control();
}

bool MessageSender::send_offer(const verbs::RemoteMemory& piece) noexcept {
  std::array<std::byte, verbs::RemoteMemory::kEncodedBytes> encoded = piece.encode();
  const iovec content{encoded.data(), encoded.size()};
  return may_send_bytes() && queue_.post(MessageKind::kOffer, {&content, 1}, encoded.size());
}

bool MessageSender::send_again() noexcept {
  return may_send_bytes() && queue_.post(MessageKind::kAgain, {}, 0);
}

void MessageSender::send_control() noexcept {
  while (connected_ && peer_ready_ && !turn_.closed() && !turn_.failed()) {
    const auto control = protocol_.due();
    if (!control || !queue_.has_place_for_control()) return;
    if (!queue_.post(*control, {}, 0)) return;
  }
}

bool MessageSender::all_left() const noexcept {
  return turn_.failed() ||
         (protocol_.peer_took_end() && protocol_.end_taken_left() && queue_.under_way() == 0);
}

}  // namespace weft::detail::verbs_carrier
