// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/message_sender.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/verbs/limits.hpp"

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

// The shortest message that a peer may take has room for the longest list.
bool MessageSender::send_offer(const BytesBefore& before,
                               std::span<const verbs::RemoteMemory> runs) noexcept {
  constexpr std::size_t kEach = verbs::RemoteMemory::kEncodedBytes;
  static_assert(kMessageHeaderBytes + kRunsOfferedMax * kEach <= kMessageBytesMin);
  std::array<std::byte, kRunsOfferedMax * kEach> encoded;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::ranges::copy(runs[i].encode(), encoded.data() + i * kEach);
  }
  std::array<iovec, kPiecesBeforeMax + 1> content;
  const std::size_t pieces = before.pieces.size();
  std::ranges::copy(before.pieces, content.begin());
  content[pieces] = {encoded.data(), runs.size() * kEach};
  const MessageProtocol::Control offer{MessageKind::kOffer, 0, static_cast<std::uint8_t>(runs.size())};
  return may_send_bytes() &&
         post_bytes(offer, std::span{content}.first(pieces + 1), before.bytes + content[pieces].iov_len);
}

bool MessageSender::send_again() noexcept {
  return may_send_bytes() && queue_.post(MessageKind::kAgain, {}, 0);
}

void MessageSender::send_control() noexcept {
  while (connected_ && peer_ready_ && !turn_.closed() && !turn_.failed()) {
    if (notice_.waits()) return;
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
