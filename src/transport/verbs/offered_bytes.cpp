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

// What began to be offered goes on so.
bool OfferedBytes::takes(const iovec& front, std::size_t leased) noexcept {
  if (offered_ > 0) return true;
  if (declined_ || withdrawn_) [[unlikely]] {
    forget_refusal();
    to_copy_ = leased;
  }
  if (leased < bytes_min_ || to_copy_ > 0) return false;
  auto memory = readable_by_peers(bytes_of(front).first(leased));
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

Moved OfferedBytes::offer(const iovec& front, std::size_t leased) noexcept {
  if (const std::size_t done = std::exchange(fetched_, 0); done > 0) {
    offered_ -= done;
    declines_ = 0;
    if (offered_ == 0 && !declined_) memory_.reset();
    return Moved::some(done, false);
  }
  short_of_credit_ = false;
  while (!declined_ && !withdrawn_ && offered_ < std::min(leased, kOffersMax * kOfferBytes)) {
    const std::size_t size = std::min(leased - offered_, kOfferBytes);
    const auto begin = reinterpret_cast<std::uintptr_t>(front.iov_base);
    short_of_credit_ = !queue_.send_offer({begin + offered_, size, memory_->rkey()});
    if (short_of_credit_) break;
    offered_ += size;
  }
  return waits_for_answer() ? Moved::begun() : Moved::blocked();
}

// There is news of what is offered, or credit for more.
bool OfferedBytes::may_get_on(bool may_send) const noexcept {
  if (offered_ == 0) return may_send;
  return fetched_ > 0 || (short_of_credit_ && may_send);
}

void OfferedBytes::fetched(std::uint32_t bytes) noexcept {
  if (bytes > offered_ - fetched_) return protocol_.misbehaved("fetched more than it was offered");
  fetched_ += bytes;
}

void OfferedBytes::declined(std::uint32_t bytes) noexcept {
  if (bytes > offered_ - fetched_) return protocol_.misbehaved("declined more than it was offered");
  offered_ -= bytes;
  // Once for all pieces of an attachment.
  if (std::exchange(declined_, true) || withdrawn_) return;
  declines_ = std::min(declines_ + 1, kDeclinesCountedMax);
  left_out_ = (1u << declines_) - 1;
}

void OfferedBytes::withdraw(TimePoint now) noexcept {
  if (std::exchange(withdrawn_, true)) return;
  withdrawn_at_ = now;
  protocol_.want(MessageKind::kWithdraw);
}

void OfferedBytes::forget_refusal() noexcept {
  protocol_.forget(MessageKind::kWithdraw);  // crossed the answer, and is not about what is offered next
  memory_.reset();
  declined_ = withdrawn_ = false;
}

std::size_t OfferedBytes::take_back() noexcept {
  forget_refusal();
  offered_ = 0;
  short_of_credit_ = false;
  return std::exchange(fetched_, 0);
}

}  // namespace weft::detail::verbs_carrier
