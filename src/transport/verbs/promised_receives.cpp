// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/promised_receives.hpp"

#include <algorithm>

#include "transport/verbs/limits.hpp"
#include "transport/verbs/receive_pool.hpp"

namespace weft::detail::verbs_carrier {

void PromisedReceives::begin() noexcept {
  promised_ = options_.credits_min;
  protocol_.credit().begin(static_cast<std::uint32_t>(promised_));
}

bool PromisedReceives::came_without_credit() noexcept {
  protocol_.misbehaved("sent a message without credit");
  return false;
}

void PromisedReceives::note_use() noexcept {
  pool_.note_spare(*this, true);
}

// Grants as many receives as were used, and one more each time, so that a busy sender gets many.
inline void PromisedReceives::grant(bool about_an_offer) noexcept {
  if (in_use() < promised_) protocol_.credit().grant(static_cast<std::uint32_t>(promised_ - in_use()));
  if (promised_ < options_.credits_max && pool_.promise_one(*this)) {
    ++promised_;
    protocol_.credit().grant(1);
    pool_.note_spare(*this, true);
  }
  tell_if_due(about_an_offer);
}

// Lent slots do not return for a long time, so the others must be granted in time, or the peer would keep its
// last credits unused. While an offer is open, each single credit that the peer may need for an answer is
// granted.
void PromisedReceives::tell_if_due(bool about_an_offer) noexcept {
  const std::uint32_t untold = protocol_.credit().untold();
  const bool much = untold >= 2 && untold >= (promised_ - lent_) / 2;
  const bool peer_needs_it =
      about_an_offer && untold > 0 && protocol_.credit().peer_knows() <= MessageCredit::kKept;
  if (much || peer_needs_it) protocol_.want(MessageKind::kCredit);
}

void PromisedReceives::gave_back(bool about_an_offer) noexcept {
  --held_;
  grant(about_an_offer);
}

bool PromisedReceives::may_lend() const noexcept {
  return lent_ + kCreditsMin < promised_;
}

void PromisedReceives::lend(bool about_an_offer) noexcept {
  ++lent_;
  tell_if_due(about_an_offer);
}

void PromisedReceives::lent_back(bool about_an_offer) noexcept {
  --lent_;
  gave_back(about_an_offer);
}

bool PromisedReceives::returned(std::uint32_t credits) noexcept {
  if (!protocol_.credit().use(credits)) {
    protocol_.misbehaved("returns credit that it does not have");
    return false;
  }
  const std::size_t spare = promised_ - std::max<std::size_t>(in_use(), options_.credits_min);
  promised_ -= spare;
  pool_.unpromise(spare);
  return true;
}

bool PromisedReceives::ask_back() noexcept {
  if (turn_.closed() || protocol_.credit().peer_may_send() <= options_.credits_min) return false;
  protocol_.want(MessageKind::kReclaim);
  turn_.touch();
  return true;
}

std::size_t PromisedReceives::leave_one() noexcept {
  const std::size_t left = promised_ > lent_ ? 1 : 0;
  promised_ -= left;
  return left;
}

void PromisedReceives::end() noexcept {
  pool_.note_spare(*this, false);
  pool_.unpromise(promised_ - std::min(promised_, lent_));
}

}  // namespace weft::detail::verbs_carrier
