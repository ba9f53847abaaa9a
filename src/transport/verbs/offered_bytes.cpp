// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/offered_bytes.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace weft::detail::verbs_carrier {

OfferedBytes::OfferedBytes(Registrations::View& registrations, RendezvousQueue& queue,
                           MessageProtocol& protocol, OfferChoice::Limits limits)
    : queue_(queue), protocol_(protocol), choice_(registrations, limits) {}

// What began to be offered goes on so.
std::size_t OfferedBytes::takes(std::span<const iovec> next, std::size_t leased) noexcept {
  if (to_offer_ > 0) return 1;
  OfferChoice::Chosen chosen = choice_.choose(next, leased);
  memory_ = std::move(chosen.memory);
  return chosen.pieces;
}

bool OfferedBytes::goes_on() noexcept {
  short_of_credit_ = false;
  if (interrupted()) [[unlikely]] {
    if (waits_for_answer()) return false;
    const bool asked_back = withdrawn_;
    const std::size_t all = begun() + to_offer_;
    roll_back();
    // The caller that withdrew the offer may look again later, and must not find it offered anew.
    if (asked_back) {
      choice_.copy(all);
    } else {
      choice_.copy_next();
    }
  }
  if (again_due_) {
    short_of_credit_ = !queue_.send_again();
    again_due_ = short_of_credit_;
  }
  return !again_due_;
}

// What take_done() left was declined, or was sent behind that.
void OfferedBytes::roll_back() noexcept {
  protocol_.forget(
      MessageKind::kWithdraw);  // the withdrawal crossed the answer, and does not concern the next offer
  if (begun() > 0) {
    again_due_ = true;
    choice_.copy(0);
  }
  begun_.clear();
  unanswered_ = to_offer_ = 0;
  memory_.reset();
  declined_ = withdrawn_ = false;
}

// Until some of it is offered the owner of the memory may take it without asking.
bool OfferedBytes::offer(std::span<const iovec> next, std::size_t leased,
                         const BytesBefore& before) noexcept {
  if (next.size() > 1) return offer_list(next, before);
  const std::size_t rest = to_offer_ > 0 ? to_offer_ : leased;
  const std::size_t size = std::min(rest, kOfferBytes);
  const bool offered = has_room_for(size) && offer_piece(next.front().iov_base, size, before);
  if (offered) to_offer_ = rest - size;
  if (to_offer_ == 0) memory_.reset();
  return offered;
}

bool OfferedBytes::has_room_for(std::size_t bytes) const noexcept {
  return begun_.offers() < kOffersMax && unanswered_ + bytes <= kOfferedBytesMax;
}

bool OfferedBytes::offer_piece(const void* begin, std::size_t bytes, const BytesBefore& before) noexcept {
  const verbs::RemoteMemory piece{reinterpret_cast<std::uintptr_t>(begin), bytes, memory_->rkey()};
  return send_offer(before, {&piece, 1}, bytes);
}

bool OfferedBytes::offer_list(std::span<const iovec> runs, const BytesBefore& before) noexcept {
  std::array<verbs::RemoteMemory, kRunsOfferedMax> listed;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    listed[i] = {reinterpret_cast<std::uintptr_t>(runs[i].iov_base), runs[i].iov_len, memory_->rkey()};
    bytes += runs[i].iov_len;
  }
  const bool offered = has_room_for(bytes) && send_offer(before, std::span{listed}.first(runs.size()), bytes);
  memory_.reset();
  return offered;
}

bool OfferedBytes::send_offer(const BytesBefore& before, std::span<const verbs::RemoteMemory> runs,
                              std::size_t bytes) noexcept {
  short_of_credit_ = !queue_.send_offer(before, runs);
  if (short_of_credit_) return false;
  if (before.bytes > 0) begun_.add_sent(before.bytes);
  begun_.add_offer(bytes, memory_);
  unanswered_ += bytes;
  return true;
}

// True if an offer was answered, or credit for another offer arrived.
bool OfferedBytes::may_get_on(bool may_send) const noexcept {
  if (begun() == 0) return may_send || interrupted();
  return begun_.has_done() || (interrupted() && !waits_for_answer()) || (short_of_credit_ && may_send);
}

void OfferedBytes::fetched(std::uint32_t bytes) noexcept {
  if (bytes > unanswered_) return protocol_.misbehaved("fetched more than it was offered");
  unanswered_ -= bytes;
  begun_.fetched(bytes);
  choice_.fetched();
}

void OfferedBytes::declined(std::uint32_t bytes) noexcept {
  if (bytes > unanswered_) return protocol_.misbehaved("declined more than it was offered");
  unanswered_ -= bytes;
  // One decline covers everything under way.
  if (std::exchange(declined_, true) || withdrawn_) return;
  choice_.declined();
}

void OfferedBytes::withdraw(TimePoint now) noexcept {
  if (std::exchange(withdrawn_, true)) return;
  withdrawn_at_ = now;
  protocol_.want(MessageKind::kWithdraw);
}

std::size_t OfferedBytes::take_back() noexcept {
  const std::size_t done = take_done();
  roll_back();
  short_of_credit_ = false;
  return done;
}

void OfferedBytes::end() noexcept {
  begun_.clear();
  memory_.reset();
}

}  // namespace weft::detail::verbs_carrier
