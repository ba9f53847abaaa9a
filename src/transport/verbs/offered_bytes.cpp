// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/offered_bytes.hpp"

#include <algorithm>
#include <utility>

#include "transport/verbs/limits.hpp"

namespace weft::detail::verbs_carrier {

namespace {

Bytes bytes_of(const iovec& piece) {
  return {static_cast<const std::byte*>(piece.iov_base), piece.iov_len};
}

}  // namespace

OfferedBytes::OfferedBytes(Registrations::View& registrations, RendezvousQueue& queue,
                           MessageProtocol& protocol, std::size_t bytes_min)
    : registrations_(registrations), queue_(queue), protocol_(protocol), bytes_min_(bytes_min) {}

// What began to be offered goes on so.
bool OfferedBytes::takes(const iovec& next, std::size_t leased) noexcept {
  if (to_offer_ > 0) return true;
  if (std::exchange(next_is_declined_, false)) to_copy_ = leased;
  if (leased < bytes_min_ || to_copy_ > 0) return false;
  auto memory = readable_by_peers(bytes_of(next).first(leased));
  if (memory == nullptr || left_out_ > 0) {
    if (memory != nullptr) --left_out_;
    to_copy_ = leased;  // so that this is asked once for each attachment
    return false;
  }
  memory_ = std::move(memory);
  return true;
}

bool OfferedBytes::may_take(const iovec& piece) noexcept {
  if (piece.iov_len < bytes_min_) [[likely]]
    return false;
  return readable_by_peers(bytes_of(piece)) != nullptr;
}

std::shared_ptr<const Registration> OfferedBytes::readable_by_peers(Bytes bytes) noexcept {
  auto memory = registrations_.find(bytes);
  if (memory != nullptr && !memory->peers_may_read()) memory.reset();
  return memory;
}

bool OfferedBytes::goes_on() noexcept {
  short_of_credit_ = false;
  if (interrupted()) [[unlikely]] {
    if (waits_for_answer()) return false;
    const bool asked_back = withdrawn_;
    const std::size_t all = begun() + to_offer_;
    roll_back();
    next_is_declined_ = !asked_back;
    // Whoever asked for it may look again only later, and must not find it offered anew.
    if (asked_back) to_copy_ = all;
  }
  if (again_due_) {
    short_of_credit_ = !queue_.send_again();
    again_due_ = short_of_credit_;
  }
  return !again_due_;
}

// What take_done() left was declined, or was sent behind that.
void OfferedBytes::roll_back() noexcept {
  protocol_.forget(MessageKind::kWithdraw);  // crossed the answer, and is not about what is offered next
  if (begun() > 0) {
    again_due_ = true;
    to_copy_ = 0;
  }
  begun_.clear();
  unanswered_ = to_offer_ = 0;
  memory_.reset();
  declined_ = withdrawn_ = false;
}

// Until some of it is offered the owner of the memory may take it without asking.
bool OfferedBytes::offer(const iovec& next, std::size_t leased) noexcept {
  const std::size_t rest = to_offer_ > 0 ? to_offer_ : leased;
  const std::size_t size = std::min(rest, kOfferBytes);
  const bool has_room = begun_.offers() < kOffersMax && unanswered_ + size <= kOfferedBytesMax;
  const bool offered = has_room && offer_piece(next.iov_base, size);
  if (offered) to_offer_ = rest - size;
  if (to_offer_ == 0) memory_.reset();
  return offered;
}

bool OfferedBytes::offer_piece(const void* begin, std::size_t bytes) noexcept {
  short_of_credit_ = !queue_.send_offer({reinterpret_cast<std::uintptr_t>(begin), bytes, memory_->rkey()});
  if (short_of_credit_) return false;
  begun_.add_offer(bytes, memory_);
  unanswered_ += bytes;
  return true;
}

// There is news of what is offered, or credit for more.
bool OfferedBytes::may_get_on(bool may_send) const noexcept {
  if (begun() == 0) return may_send || interrupted();
  return begun_.has_done() || (interrupted() && !waits_for_answer()) || (short_of_credit_ && may_send);
}

void OfferedBytes::fetched(std::uint32_t bytes) noexcept {
  if (bytes > unanswered_) return protocol_.misbehaved("fetched more than it was offered");
  unanswered_ -= bytes;
  begun_.fetched(bytes);
  declines_ = 0;
}

void OfferedBytes::declined(std::uint32_t bytes) noexcept {
  if (bytes > unanswered_) return protocol_.misbehaved("declined more than it was offered");
  unanswered_ -= bytes;
  // Once for all that is on its way.
  if (std::exchange(declined_, true) || withdrawn_) return;
  declines_ = std::min(declines_ + 1, kDeclinesCountedMax);
  left_out_ = (1u << declines_) - 1;
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
