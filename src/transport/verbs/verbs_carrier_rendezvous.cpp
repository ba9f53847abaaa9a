// SPDX-License-Identifier: Apache-2.0
// Attachments that are not copied. Whoever sends one out of registered memory offers it, piece by piece; the
// receiver's device reads it into registered memory, and the receiver says so (fetched). A receiver whose
// memory is not registered declines, and the bytes are sent in messages.
#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/verbs_carrier.hpp"

namespace weft::verbs_carrier {

namespace {

Bytes bytes_of(const iovec& piece) {
  return {static_cast<const std::byte*>(piece.iov_base), piece.iov_len};
}

}  // namespace

// The sender.

// What began to be offered goes on so.
bool VerbsCarrier::is_offered(const iovec& front, std::size_t leased) noexcept {
  if (offering_.bytes > 0) return true;
  if (offering_.declined) [[unlikely]] {
    offering_.declined = false;
    offering_.memory.reset();
    offering_.to_copy = leased;
  }
  if (leased < options_.rendezvous_bytes_min || offering_.to_copy > 0) return false;
  auto memory = readable_by_peers(bytes_of(front).first(leased));
  if (memory == nullptr || offering_.left_out > 0) {
    if (memory != nullptr) --offering_.left_out;
    offering_.to_copy = leased;  // so that this is asked once for each attachment
    return false;
  }
  offering_.memory = std::move(memory);
  return true;
}

// It need not be: then it is a message of its own, and is looked at again.
bool VerbsCarrier::may_be_offered(const iovec& piece) noexcept {
  if (piece.iov_len < options_.rendezvous_bytes_min) [[likely]]
    return false;
  return readable_by_peers(bytes_of(piece)) != nullptr;
}

std::shared_ptr<const Registration> VerbsCarrier::readable_by_peers(Bytes bytes) noexcept {
  auto memory = loop_device_->registration_of(bytes);
  if (memory != nullptr && !memory->peers_may_read()) memory.reset();
  return memory;
}

Moved VerbsCarrier::offer(const iovec& front, std::size_t leased) {
  if (const std::size_t done = std::exchange(offering_.fetched, 0); done > 0) {
    offering_.bytes -= done;
    offering_.declines = 0;
    if (offering_.bytes == 0 && !offering_.declined) offering_.memory.reset();
    return Moved::some(done, false);
  }
  offering_.short_of_credit = false;
  while (!offering_.declined && offering_.bytes < std::min(leased, kOffersMax * kOfferBytes)) {
    const std::size_t size = std::min(leased - offering_.bytes, kOfferBytes);
    const verbs::RemoteMemory piece{reinterpret_cast<std::uintptr_t>(front.iov_base) + offering_.bytes, size,
                                    offering_.memory->rkey()};
    std::array<std::byte, verbs::RemoteMemory::kEncodedBytes> encoded = piece.encode();
    const iovec content{encoded.data(), encoded.size()};
    if (!may_send_bytes() || !post({MessageKind::kOffer, 0}, {&content, 1}, encoded.size())) {
      offering_.short_of_credit = true;
      break;
    }
    offering_.bytes += size;
  }
  send_blocked_ = true;
  if (!failure_.ok()) return Moved::failed(ECONNRESET);
  return waits_for_answer() ? Moved::begun() : Moved::blocked();
}

// Asking again would get on: there is news of what is offered, or credit for more.
bool VerbsCarrier::may_get_on() const noexcept {
  if (offering_.bytes == 0) return may_send_bytes();
  return offering_.fetched > 0 || !failure_.ok() || (offering_.short_of_credit && may_send_bytes());
}

void VerbsCarrier::take_fetched(std::uint32_t bytes) noexcept {
  if (bytes > offering_.bytes - offering_.fetched) return misbehaved("fetched more than it was offered");
  offering_.fetched += bytes;
}

void VerbsCarrier::take_decline(std::uint32_t bytes) noexcept {
  if (bytes > offering_.bytes - offering_.fetched) return misbehaved("declined more than it was offered");
  offering_.bytes -= bytes;
  // Once for all pieces of an attachment.
  if (std::exchange(offering_.declined, true) || offering_.reclaimed) return;
  offering_.declines = std::min(offering_.declines + 1, kDeclinesCountedMax);
  offering_.left_out = (1u << offering_.declines) - 1;
}

// The peer answers to a withdrawal as soon as its device is done, which takes as long as two pieces.
Moved VerbsCarrier::reclaim_sending() {
  if (offering_.bytes > offering_.fetched) {
    offering_.reclaimed = true;
    want_control(MessageKind::kWithdraw);
  }
  Clock& clock = steady_clock_source();
  const TimePoint give_up_at = clock.now() + kReclaimAtMost;
  while (offering_.bytes > offering_.fetched) {
    if (!failure_.ok() || protocol_.misbehaves() || clock.now() >= give_up_at) return give_up_for_memory();
    loop_device_->progress();
    send_control();
  }
  protocol_.forget(MessageKind::kWithdraw);  // crossed the answer, and is not about what is offered next
  const std::size_t done = offering_.fetched;
  offering_.memory.reset();
  offering_.bytes = offering_.fetched = 0;
  offering_.declined = offering_.reclaimed = offering_.short_of_credit = false;
  return done > 0 ? Moved::some(done, false) : Moved::blocked();
}

// Without its queue pair the device serves no reads, and makes none.
Moved VerbsCarrier::give_up_for_memory() {
  fail({StatusCode::kUnavailable, Layer::kTransport, "the peer did not give memory back in time"});
  shut();
  return Moved::failed(protocol_.misbehaves() ? EPROTO : ETIMEDOUT);
}

// The receiver.

Buffer VerbsCarrier::landing_memory(std::size_t bytes) {
  return bytes < options_.rendezvous_bytes_min ? Buffer{} : loop_device_->landing_memory(bytes);
}

// Inside a poll.
void VerbsCarrier::take_offer(Bytes content) noexcept {
  const auto from = verbs::RemoteMemory::decode(content);
  if (!from || from->bytes == 0 || from->bytes > kOfferBytes) return misbehaved("made an impossible offer");
  if (declining_) return decline(*from);
  std::size_t unanswered = 0;
  for (std::size_t i = 0; i < offers_.size(); ++i) unanswered += offers_[i].told ? 0 : 1;
  if (unanswered == kOffersMax || offers_.full()) return misbehaved("offers too much at a time");
  offers_.push_back({.from = *from});
  inbox_.push_back({Arrival::Kind::kOffer, 0, 0, 0});
}

// Inside a poll. What was not begun is last of what came, for whoever offers sends nothing else meanwhile.
void VerbsCarrier::take_withdrawal() noexcept {
  while (inbox_.size() > 0 && inbox_.back().kind == Arrival::Kind::kOffer &&
         offers_.back().state == Offer::State::kWaits) {
    decline(offers_.back().from);
    inbox_.pop_back();
    offers_.pop_back();
  }
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    offers_[i].withdrawn = true;
    if (offers_[i].state == Offer::State::kRead) tell_fetched(offers_[i]);
  }
}

// One call begins to read what is offered, a later one reports it.
Moved VerbsCarrier::fetch(std::span<const iovec> into, MutableBytes landing) {
  Offer& first = offers_.front();
  if (first.state == Offer::State::kRead) {
    const auto size = static_cast<std::size_t>(first.from.bytes);
    tell_fetched(first);
    pop_offer();
    return Moved::some(size, inbox_.size() == 0);
  }
  if (first.state == Offer::State::kWaits && decline_if_unknown(landing)) return receive(into, {});
  begin_reads(landing);
  return reads_under_way() ? Moved::begun() : Moved::blocked();
}

// True when the device does not know the landing, or there is none: then nothing that comes next is fetched.
bool VerbsCarrier::decline_if_unknown(MutableBytes landing) noexcept {
  if (!landing.empty()) landing_registration_ = loop_device_->registration_of(landing);
  if (!landing.empty() && landing_registration_ != nullptr) return false;
  while (inbox_.size() > 0 && inbox_.front().kind == Arrival::Kind::kOffer) {
    decline(offers_.front().from);
    pop_offer();
  }
  return true;
}

void VerbsCarrier::decline(const verbs::RemoteMemory& offered) noexcept {
  declining_ = true;
  want_control(MessageKind::kDecline, static_cast<std::uint32_t>(offered.bytes));
}

// Those that stand one behind the other at the beginning of what comes.
void VerbsCarrier::begin_reads(MutableBytes landing) noexcept {
  std::size_t offset = 0;
  for (std::size_t i = 0; i < inbox_.size() && inbox_[i].kind == Arrival::Kind::kOffer; ++i) {
    Offer& offer = offers_[i];
    if (offer.from.bytes > landing.size() - offset) return misbehaved("offers more than its attachment");
    if (offer.state == Offer::State::kWaits) {
      if (sends_under_way() >= options_.sends_max || !read(offer.from, landing.data() + offset)) return;
      offer.state = Offer::State::kIsRead;
    }
    offset += static_cast<std::size_t>(offer.from.bytes);
  }
}

bool VerbsCarrier::read(const verbs::RemoteMemory& from, std::byte* to) noexcept {
  ibv_send_wr request{};
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = from.address;
  request.wr.rdma.rkey = from.rkey;
  const ibv_sge segment{reinterpret_cast<std::uintptr_t>(to), static_cast<std::uint32_t>(from.bytes),
                        landing_registration_->lkey()};
  if (!give_to_device(request, segment)) return false;
  unsignalled_ = 0;
  sent_messages_[posted_++ % sent_messages_.size()] = {Sent::Memory::kLanding, 0};
  return true;
}

// Inside a poll. They end in the order in which they were begun.
void VerbsCarrier::end_read() noexcept {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].state != Offer::State::kIsRead) continue;
    offers_[i].state = Offer::State::kRead;
    if (offers_[i].withdrawn) tell_fetched(offers_[i]);
    return;
  }
}

void VerbsCarrier::tell_fetched(Offer& offer) noexcept {
  if (std::exchange(offer.told, true)) return;
  want_control(MessageKind::kFetched, static_cast<std::uint32_t>(offer.from.bytes));
}

void VerbsCarrier::pop_offer() noexcept {
  inbox_.pop_front();
  offers_.pop_front();
  if (!reads_under_way()) landing_registration_.reset();
}

bool VerbsCarrier::reads_under_way() noexcept {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].state == Offer::State::kIsRead) return true;
  }
  return false;
}

Moved VerbsCarrier::reclaim_landing() {
  Clock& clock = steady_clock_source();
  const TimePoint give_up_at = clock.now() + kReclaimAtMost;
  while (reads_under_way()) {
    if (!failure_.ok() || protocol_.misbehaves() || clock.now() >= give_up_at) return give_up_for_memory();
    loop_device_->progress();
  }
  std::size_t landed = 0;
  while (inbox_.size() > 0 && inbox_.front().kind == Arrival::Kind::kOffer &&
         offers_.front().state == Offer::State::kRead) {
    landed += static_cast<std::size_t>(offers_.front().from.bytes);
    tell_fetched(offers_.front());
    pop_offer();
  }
  landing_registration_.reset();
  return landed > 0 ? Moved::some(landed, false) : Moved::blocked();
}

}  // namespace weft::verbs_carrier
