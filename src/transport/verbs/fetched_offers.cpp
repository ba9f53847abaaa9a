// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/fetched_offers.hpp"

#include <utility>

#include "transport/verbs/limits.hpp"

namespace weft::detail::verbs_carrier {

FetchedOffers::FetchedOffers(Inbox& inbox, Registrations::View& registrations, RendezvousQueue& queue,
                             MessageProtocol& protocol)
    : inbox_(inbox),
      registrations_(registrations),
      queue_(queue),
      protocol_(protocol),
      offers_(kOffersKeptMax) {}

FetchedOffers::Unanswered FetchedOffers::unanswered() noexcept {
  Unanswered found;
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].told) continue;
    ++found.offers;
    found.bytes += offers_[i].from.bytes;
  }
  return found;
}

void FetchedOffers::offered(Bytes content) noexcept {
  const auto from = verbs::RemoteMemory::decode(content);
  if (!from || from->bytes == 0 || from->bytes > kOfferBytes) {
    return protocol_.misbehaved("made an impossible offer");
  }
  if (declining_) return decline(*from);
  const Unanswered before = unanswered();
  if (before.offers == kOffersMax || before.bytes + from->bytes > kOfferedBytesMax || offers_.full()) {
    return protocol_.misbehaved("offers too much at a time");
  }
  offers_.push_back({.from = *from});
  inbox_.add(Inbox::Kind::kOffer);
}

void FetchedOffers::comes_again() noexcept {
  if (!std::exchange(declining_, false)) protocol_.misbehaved("begins again where nothing was declined");
}

void FetchedOffers::withdrawn() noexcept {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    offers_[i].withdrawn = true;
    if (offers_[i].state == Offer::State::kRead) tell_fetched(offers_[i]);
  }
}

void FetchedOffers::on_read() noexcept {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].state != Offer::State::kIsRead) continue;
    offers_[i].state = Offer::State::kRead;
    if (offers_[i].withdrawn) tell_fetched(offers_[i]);
    return;
  }
}

std::optional<Moved> FetchedOffers::fetch(MutableBytes landing, bool goes_on) noexcept {
  const Offer::State state = offers_.front().state;
  if (state == Offer::State::kRead) {
    const std::size_t size = pop_read();
    return Moved::some(size, inbox_.empty());
  }
  if (state == Offer::State::kWaits) {
    const bool fits = !goes_on || offers_.front().from.bytes <= landing.size();
    if (!fits || !knows(landing)) return std::nullopt;
  }
  begin_reads(landing, goes_on);
  return reads_under_way() ? Moved::begun() : Moved::blocked();
}

bool FetchedOffers::knows(MutableBytes landing) noexcept {
  if (landing.empty()) return false;
  landing_ = registrations_.find(landing);
  return landing_ != nullptr;
}

void FetchedOffers::decline(const verbs::RemoteMemory& offered) noexcept {
  declining_ = true;
  protocol_.want(MessageKind::kDecline, static_cast<std::uint32_t>(offered.bytes));
}

// Those that stand one behind the other at the beginning of what came, as far as they belong to this landing.
void FetchedOffers::begin_reads(MutableBytes landing, bool goes_on) noexcept {
  std::size_t offset = 0;
  for (std::size_t i = 0, count = inbox_.offers_in_front(); i < count && offset < landing.size(); ++i) {
    Offer& offer = offers_[i];
    if (offer.from.bytes > landing.size() - offset) {
      if (!goes_on) protocol_.misbehaved("offers more than its attachment");
      return;
    }
    if (offer.state == Offer::State::kWaits) {
      if (!queue_.begin_read(offer.from, landing.data() + offset, landing_->lkey())) return;
      offer.state = Offer::State::kIsRead;
    }
    offset += static_cast<std::size_t>(offer.from.bytes);
  }
}

void FetchedOffers::tell_fetched(Offer& offer) noexcept {
  if (std::exchange(offer.told, true)) return;
  protocol_.want(MessageKind::kFetched, static_cast<std::uint32_t>(offer.from.bytes));
}

std::size_t FetchedOffers::skip(std::size_t bytes) noexcept {
  std::size_t skipped = 0;
  while (skipped < bytes && inbox_.begins_with(Inbox::Kind::kOffer) &&
         offers_.front().state != Offer::State::kIsRead) {
    if (offers_.front().from.bytes > bytes - skipped) {
      protocol_.misbehaved("offers more than its attachment");
      break;
    }
    skipped += pop_read();
  }
  return skipped;
}

std::size_t FetchedOffers::pop_read() noexcept {
  Offer& first = offers_.front();
  const auto size = static_cast<std::size_t>(first.from.bytes);
  tell_fetched(first);
  pop_front();
  return size;
}

void FetchedOffers::pop_front() noexcept {
  inbox_.pop_front();
  offers_.pop_front();
  if (!reads_under_way()) landing_.reset();
}

bool FetchedOffers::reads_under_way() noexcept {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].state == Offer::State::kIsRead) return true;
  }
  return false;
}

std::size_t FetchedOffers::take_landing_back() noexcept {
  std::size_t landed = 0;
  while (inbox_.begins_with(Inbox::Kind::kOffer) && offers_.front().state == Offer::State::kRead) {
    landed += pop_read();
  }
  landing_.reset();
  return landed;
}

}  // namespace weft::detail::verbs_carrier
