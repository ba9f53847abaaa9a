// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/message_receiver.hpp"

#include <algorithm>
#include <cstring>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/loop_device.hpp"

namespace weft::detail::verbs_carrier {

MessageReceiver::MessageReceiver(LoopDevice& loop_device, MessageProtocol& protocol, MessageSender& sender,
                                 OfferedBytes& offered, CarrierTurn& turn)
    : loop_device_(loop_device),
      protocol_(protocol),
      sender_(sender),
      offered_(offered),
      turn_(turn),
      inbox_(loop_device.options().credits_max + 1 + kOffersKeptMax),
      promised_(loop_device.receives(), protocol, turn, loop_device.options()),
      offers_(inbox_, loop_device.registrations(), sender, protocol,
              loop_device.device().read_segments_max()) {}

// The peer's misdeeds are found here, before anything is kept.
void MessageReceiver::arrived(std::uint32_t slot, std::size_t bytes) noexcept {
  if (turn_.closed()) return loop_device_.receives().give_back(slot);
  turn_.touch();
  if (!promised_.came()) return loop_device_.receives().give_back(slot);
  if (!take_in(slot, bytes)) give_back(slot);
  sender_.send_control_if_wanted();
}

// True when the slot is kept.
bool MessageReceiver::take_in(std::uint32_t slot, std::size_t bytes) noexcept {
  const Bytes message{loop_device_.receives().at(slot), bytes};
  const auto header = load_message_header(message);
  if (!header) return protocol_.misbehaved("sent a message of another protocol or version"), false;
  const Bytes content = message.subspan(kMessageHeaderBytes);
  if (!protocol_.check(*header, content.size()) || !protocol_.take(*header)) return false;
  if (has_bytes(header->kind) && header->value > 0) offered_.fetched(header->value);
  if (protocol_.misbehaves()) return false;
  return take_kind(*header, slot, content);
}

// Keeps the bytes for receive(), unless they follow a declined offer.
bool MessageReceiver::keep(std::uint32_t slot, std::size_t bytes) noexcept {
  if (bytes == 0 || offers_.declining()) return false;
  inbox_.add_bytes(slot, kMessageHeaderBytes + bytes);
  return true;
}

bool MessageReceiver::take_offer(const MessageHeader& header, std::uint32_t slot, Bytes content) noexcept {
  const std::size_t named = header.runs * verbs::RemoteMemory::kEncodedBytes;
  if (named > content.size()) return protocol_.misbehaved("made an impossible offer"), false;
  const bool kept = keep(slot, content.size() - named);
  offers_.offered(content.last(named));
  return kept;
}

// True when the slot is kept.
bool MessageReceiver::take_kind(const MessageHeader& header, std::uint32_t slot, Bytes content) noexcept {
  switch (header.kind) {
    case MessageKind::kBytes:
      return keep(slot, content.size());
    case MessageKind::kReclaim:
      protocol_.want(MessageKind::kReturn);
      return false;
    case MessageKind::kReturn:
      promised_.returned(header.value);
      return false;
    case MessageKind::kEnd:
      if (!offers_.may_end()) return protocol_.misbehaved("ended before all it offers is answered"), false;
      inbox_.add(Inbox::Kind::kEnd);
      return false;
    case MessageKind::kOffer:
      return take_offer(header, slot, content);
    case MessageKind::kFetched:
      offered_.fetched(header.value);
      return false;
    case MessageKind::kDecline:
      offered_.declined(header.value);
      return false;
    case MessageKind::kWithdraw:
      sender_.hurry();
      decline_what_waits();
      offers_.withdrawn();
      return false;
    case MessageKind::kAgain:
      offers_.comes_again();
      return false;
    default:
      return false;
  }
}

void MessageReceiver::give_back(std::uint32_t slot) noexcept {
  loop_device_.receives().give_back(slot);
  promised_.gave_back(about_an_offer());
}

void MessageReceiver::on_read() noexcept {
  const bool is_awaited = offers_.are_awaited();
  offers_.on_read();
  if (is_awaited) return sender_.hurry();
  sender_.send_control_if_wanted();
}

void MessageReceiver::lent_returned() noexcept {
  promised_.lent_back(about_an_offer());
  sender_.send_control_if_wanted();
}

inline std::size_t MessageReceiver::copy(std::span<const iovec> into) noexcept {
  std::size_t total = 0;
  for (iovec place : into) {
    while (place.iov_len > 0 && inbox_.begins_with(Inbox::Kind::kBytes)) {
      Inbox::Arrival& front = inbox_.front();
      const std::size_t part = std::min<std::size_t>(place.iov_len, front.end - front.begin);
      std::memcpy(place.iov_base, loop_device_.receives().at(front.slot) + front.begin, part);
      front.begin += static_cast<std::uint32_t>(part);
      total += part;
      place.iov_base = static_cast<std::byte*>(place.iov_base) + part;
      place.iov_len -= part;
      if (front.begin == front.end) give_back(inbox_.pop_front().slot);
    }
  }
  return total;
}

Moved MessageReceiver::receive(std::span<const iovec> into, std::span<const iovec> landing) {
  if (inbox_.empty() || protocol_.misbehaves()) return Moved::blocked();
  if (const std::size_t copied = copy(into); copied > 0) {
    sender_.send_control_if_wanted();
    return Moved::some(copied, inbox_.empty());
  }
  if (inbox_.begins_with(Inbox::Kind::kOffer)) return fetch(into, landing);
  if (protocol_.take_end()) sender_.send_control();
  return Moved::ended();
}

Moved MessageReceiver::fetch(std::span<const iovec> into, std::span<const iovec> landing) {
  // Where the whole landing is listed, a place behind it is for the bytes after the attachment.
  const auto moved = offers_.fetch(landing, landing.size() < into.size());
  if (!moved) {
    decline_what_waits();
  } else if (moved->kind == Moved::Kind::kSome) {
    let_fetched_wait();
  }
  sender_.send_control_if_wanted();
  if (!moved) return receive(into, {});
  if (protocol_.misbehaves()) turn_.touch();
  return *moved;
}

// For the calls that follow from it.
void MessageReceiver::let_fetched_wait() noexcept {
  if (offers_.are_awaited()) {
    sender_.hurry();
  } else {
    sender_.let_fetched_wait();
  }
}

void MessageReceiver::read_ahead(std::size_t left, LandingsAhead& ahead) {
  offers_.read_ahead(left, ahead, [this](const Inbox::Arrival& message) {
    return Bytes{loop_device_.receives().at(message.slot), message.end}.subspan(message.begin);
  });
}

void MessageReceiver::decline_what_waits() noexcept {
  offers_.decline_what_waits([this](std::uint32_t slot) { give_back(slot); });
}

std::size_t MessageReceiver::skip(std::size_t bytes) noexcept {
  const std::size_t skipped = offers_.skip(bytes);
  sender_.send_control_if_wanted();
  if (protocol_.misbehaves()) turn_.touch();
  return skipped;
}

ChunkRef MessageReceiver::receive_in_place(const CarrierName& name, bool& exhausted) {
  if (inbox_.empty() || !inbox_.front().is_whole() || !promised_.may_lend()) return {};
  const Inbox::Arrival front = inbox_.front();
  ChunkRef chunk = loop_device_.lent().lend(front.slot, front.end, name);
  if (!chunk) return {};
  promised_.lend(about_an_offer());
  sender_.send_control_if_wanted();
  inbox_.pop_front();
  exhausted = inbox_.empty();
  return chunk;
}

void MessageReceiver::end() noexcept {
  offers_.end();
  while (!inbox_.empty()) {
    const Inbox::Arrival arrival = inbox_.pop_front();
    if (arrival.kind == Inbox::Kind::kBytes) loop_device_.receives().give_back(arrival.slot);
  }
  promised_.end();
}

}  // namespace weft::detail::verbs_carrier
