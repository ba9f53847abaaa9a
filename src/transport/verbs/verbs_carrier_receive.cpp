// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::verbs_carrier {

// Inside a poll. What the peer may not do is found here, before anything is kept.
void VerbsCarrier::arrived(std::uint32_t slot, std::size_t bytes) noexcept {
  if (shut_) return loop_device_->give_back(slot);
  if (!protocol_.credit().use(1)) {
    misbehaved("sent a message without credit");
    return loop_device_->give_back(slot);
  }
  ++held_;
  if (promised_ > options_.credits_min) loop_device_->note_spare(*this, true);
  touch();
  if (!take_in(slot, bytes)) done_with(slot);
}

// True when the slot is kept.
bool VerbsCarrier::take_in(std::uint32_t slot, std::size_t bytes) noexcept {
  const Bytes message{loop_device_->at(slot), bytes};
  const auto header = load_message_header(message);
  if (!header) return misbehaved("sent a message of another protocol or version"), false;
  const Bytes content = message.subspan(kMessageHeaderBytes);
  if (!protocol_.check(*header, content.size()) || !protocol_.take(*header)) return false;
  if (!take_kind(*header, content)) return false;
  inbox_.push_back({Arrival::Kind::kBytes, slot, kMessageHeaderBytes, static_cast<std::uint32_t>(bytes)});
  return true;
}

// True for a message whose bytes are to be received.
bool VerbsCarrier::take_kind(const MessageHeader& header, Bytes content) noexcept {
  switch (header.kind) {
    case MessageKind::kBytes:
      declining_ = false;
      return true;
    case MessageKind::kReclaim:
      want_control(MessageKind::kReturn);
      return false;
    case MessageKind::kReturn:
      take_return(header.value);
      return false;
    case MessageKind::kEnd:
      inbox_.push_back({Arrival::Kind::kEnd, 0, 0, 0});
      return false;
    case MessageKind::kOffer:
      take_offer(content);
      return false;
    case MessageKind::kFetched:
      take_fetched(header.value);
      return false;
    case MessageKind::kDecline:
      take_decline(header.value);
      return false;
    case MessageKind::kWithdraw:
      take_withdrawal();
      return false;
    default:
      return false;
  }
}

void VerbsCarrier::take_return(std::uint32_t credits) noexcept {
  if (!protocol_.credit().use(credits)) return misbehaved("returns credit that it does not have");
  const std::size_t spare = promised_ - std::max<std::size_t>(in_use(), options_.credits_min);
  promised_ -= spare;
  loop_device_->unpromise(spare);
}

// The slot goes back into the queue of receives, and may be promised again.
void VerbsCarrier::done_with(std::uint32_t slot) noexcept {
  loop_device_->give_back(slot);
  slot_returned();
}

void VerbsCarrier::slot_returned() noexcept {
  --held_;
  grant();
}

// As many as came, and one more each time, so that who uses them up soon has many.
void VerbsCarrier::grant() noexcept {
  if (in_use() < promised_) protocol_.credit().grant(static_cast<std::uint32_t>(promised_ - in_use()));
  if (promised_ < options_.credits_max && loop_device_->promise_one(*this)) {
    ++promised_;
    protocol_.credit().grant(1);
    loop_device_->note_spare(*this, true);
  }
  tell_credit_if_due();
}

// Of what is lent out nothing comes back for long: the rest has to be told in time, or the peer would keep
// its last credits for ever. While something is offered each single one is told that the peer
// may need to answer, or to ask for an answer.
void VerbsCarrier::tell_credit_if_due() noexcept {
  const std::uint32_t untold = protocol_.credit().untold();
  const bool much = untold >= 2 && untold >= (promised_ - lent_) / 2;
  const bool about_an_offer = waits_for_answer() || offers_.size() > 0;
  const bool peer_needs_it =
      about_an_offer && untold > 0 && protocol_.credit().peer_knows() <= MessageCredit::kKept;
  if (much || peer_needs_it) want_control(MessageKind::kCredit);
}

bool VerbsCarrier::reclaim() noexcept {
  if (shut_ || protocol_.credit().peer_may_send() <= options_.credits_min) return false;
  want_control(MessageKind::kReclaim);
  return true;
}

Moved VerbsCarrier::receive(std::span<const iovec> into, MutableBytes landing) {
  std::size_t total = 0;
  for (iovec place : into) {
    while (place.iov_len > 0 && inbox_.size() > 0 && inbox_.front().kind == Arrival::Kind::kBytes) {
      Arrival& front = inbox_.front();
      const std::size_t part = std::min<std::size_t>(place.iov_len, front.end - front.begin);
      std::memcpy(place.iov_base, loop_device_->at(front.slot) + front.begin, part);
      front.begin += static_cast<std::uint32_t>(part);
      total += part;
      place.iov_base = static_cast<std::byte*>(place.iov_base) + part;
      place.iov_len -= part;
      if (front.begin < front.end) break;
      const std::uint32_t slot = front.slot;
      inbox_.pop_front();
      done_with(slot);
    }
  }
  if (total > 0) return Moved::some(total, inbox_.size() == 0);
  if (inbox_.size() == 0) return Moved::blocked();
  if (inbox_.front().kind == Arrival::Kind::kOffer) return fetch(into, landing);
  if (protocol_.take_end()) send_control();
  return Moved::ended();
}

// A message's bytes where they lie: only as long as few are lent, because a peer whose messages are all being
// looked at may send nothing.
ChunkRef VerbsCarrier::receive_in_place(bool& exhausted) {
  if (inbox_.size() == 0 || inbox_.front().begin != kMessageHeaderBytes) return {};
  if (lent_ + kCreditsMin >= promised_) return {};
  const Arrival front = inbox_.front();
  auto* const data = const_cast<std::byte*>(loop_device_->at(front.slot));
  ChunkRef chunk = loop_device_->lend(front.slot, {data + front.begin, front.end - front.begin}, *this);
  if (!chunk) return {};
  ++lent_;
  tell_credit_if_due();
  inbox_.pop_front();
  exhausted = inbox_.size() == 0;
  return chunk;
}

void VerbsCarrier::lent_returned() noexcept {
  --lent_;
  slot_returned();
}

}  // namespace weft::verbs_carrier
