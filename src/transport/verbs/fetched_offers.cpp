// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/fetched_offers.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "transport/verbs/limits.hpp"
#include "weft/detail/base/assert.hpp"

namespace weft::detail::verbs_carrier {

namespace {

constexpr std::size_t kEncodedRun = verbs::RemoteMemory::kEncodedBytes;

// Sum of the runs that an offer names; 0 when it is none that a peer may make.
std::uint64_t bytes_offered(Bytes content) noexcept {
  if (content.size() % kEncodedRun != 0 || content.size() > kRunsOfferedMax * kEncodedRun) return 0;
  std::uint64_t bytes = 0;
  for (; !content.empty(); content = content.subspan(kEncodedRun)) {
    const auto run = verbs::RemoteMemory::decode(content.first(kEncodedRun));
    if (!run || run->bytes == 0 || run->bytes > kOfferBytes) return 0;
    bytes += run->bytes;
  }
  return bytes;
}

}  // namespace

// A place in a landing, which is not at its end.
class FetchedOffers::Landing {
 public:
  explicit Landing(std::span<const iovec> runs) noexcept : runs_(runs) {}

  bool at_end() const noexcept { return runs_.empty(); }
  MutableBytes run() const noexcept {
    return MutableBytes{static_cast<std::byte*>(runs_.front().iov_base), runs_.front().iov_len}.subspan(
        passed_);
  }
  void pass(std::uint64_t bytes) noexcept {
    for (passed_ += static_cast<std::size_t>(bytes); !at_end() && passed_ >= runs_.front().iov_len;
         runs_ = runs_.subspan(1)) {
      passed_ -= runs_.front().iov_len;
    }
  }

 private:
  std::span<const iovec> runs_;
  std::size_t passed_ = 0;
};

// Reads that are begun together.
class FetchedOffers::Batch {
 public:
  explicit Batch(std::size_t reads_max) noexcept : reads_max_(std::min(reads_max, kReadsAtOnce)) {}

  bool is_full() const noexcept { return size_ == reads_max_ || end_ == segments_.size(); }
  std::span<const ReadRequest> reads() const noexcept { return std::span{reads_}.first(size_); }
  std::size_t index_of(std::size_t read) const noexcept { return indices_[read]; }

  /// Another piece of memory for the read that is added next. False when it can have no more, or the device
  /// does not know this one by the same registration.
  bool list(MutableBytes run, Registrations::View& registrations, std::size_t segments_max) noexcept {
    if (end_ == segments_.size() || end_ - begin_ == segments_max) return false;
    if (registration_ == nullptr || !registration_->has(run)) {
      if (end_ > begin_) return false;
      registration_ = registrations.find(run);
      if (registration_ == nullptr) return false;
    }
    segments_[end_++] = {reinterpret_cast<std::uintptr_t>(run.data()), static_cast<std::uint32_t>(run.size()),
                         registration_->lkey()};
    return true;
  }
  /// Reads the offer at `index` into the listed landing memory. Returns the owner that keeps the memory
  /// registered.
  const std::shared_ptr<const Registration>& add(const verbs::RemoteMemory& from,
                                                 std::size_t index) noexcept {
    reads_[size_] = {from, std::span{segments_}.subspan(begin_, end_ - begin_)};
    indices_[size_++] = index;
    begin_ = end_;
    return registration_;
  }

 private:
  const std::size_t reads_max_;
  std::array<ReadRequest, kReadsAtOnce> reads_;
  std::array<std::size_t, kReadsAtOnce> indices_;
  std::array<ibv_sge, kLandingRunsMax + kReadsAtOnce> segments_;
  std::size_t size_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::shared_ptr<const Registration> registration_;
};

FetchedOffers::FetchedOffers(Inbox& inbox, Registrations::View& registrations, RendezvousQueue& queue,
                             MessageProtocol& protocol, std::size_t segments_max)
    : inbox_(inbox),
      registrations_(registrations),
      queue_(queue),
      protocol_(protocol),
      segments_max_(segments_max),
      offers_(kOffersKeptMax) {}

FetchedOffers::Counted FetchedOffers::counted() noexcept {
  Counted found{.unanswered_bytes = untold_};
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    const Offer& offer = offers_[i];
    if (!offer.goes_on) ++found.kept;
    if (offer.told) continue;
    if (!offer.goes_on) ++found.unanswered;
    found.unanswered_bytes += offer.from.bytes;
  }
  return found;
}

void FetchedOffers::offered(Bytes content) noexcept {
  const std::size_t runs = content.size() / kEncodedRun;
  const std::uint64_t bytes = bytes_offered(content);
  if (bytes == 0 || bytes > kOfferBytes) return protocol_.misbehaved("made an impossible offer");
  if (declining_) return decline(bytes);
  const Counted before = counted();
  if (before.unanswered == kOffersMax || before.unanswered_bytes + bytes > kOfferedBytesMax ||
      before.kept == kOffersKeptMax) {
    return protocol_.misbehaved("offers too much at a time");
  }
  if (!has_room(runs)) return decline(bytes);
  for (std::size_t i = 0; i < runs; ++i) {
    const auto from = verbs::RemoteMemory::decode(content.subspan(i * kEncodedRun, kEncodedRun));
    offers_.push_back({.from = *from, .goes_on = i + 1 < runs});
  }
  inbox_.add(Inbox::Kind::kOffer);
}

void FetchedOffers::comes_again() noexcept {
  if (!std::exchange(declining_, false)) protocol_.misbehaved("begins again where nothing was declined");
}

bool FetchedOffers::are_awaited() noexcept {
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].withdrawn) return true;
  }
  return false;
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

std::optional<Moved> FetchedOffers::fetch(std::span<const iovec> landing, bool whole) noexcept {
  WEFT_ASSERT(landing.empty() || offers_.front().state == Offer::State::kWaits ||
                  offers_.front().place == landing.front().iov_base,
              "an attachment that is read ahead lands where that was said");
  if (const std::size_t read = pop_what_is_read(); read > 0) return Moved::some(read, inbox_.empty());
  const bool lands = !landing.empty() && begin_reads(landing, whole);
  if (reads_under_way()) return Moved::begun();
  if (!lands) return std::nullopt;
  return Moved::blocked();
}

void FetchedOffers::decline(std::uint64_t bytes) noexcept {
  declining_ = true;
  protocol_.want(MessageKind::kDecline, static_cast<std::uint32_t>(bytes));
}

bool FetchedOffers::has_room(std::size_t more) noexcept {
  while (offers_.capacity() - offers_.size() < more) {
    if (!offers_.try_grow()) return false;
  }
  return true;
}

// The part before it stands for its offer in the inbox then.
void FetchedOffers::decline_last() noexcept {
  tell_untold();
  decline(offers_.back().from.bytes);
  offers_.pop_back();
  if (!offers_.empty() && offers_.back().goes_on) {
    offers_.back().goes_on = false;
  } else {
    inbox_.pop_back();
  }
}

// False when there is a place for reads, and no memory for them that the device knows.
bool FetchedOffers::begin_reads(std::span<const iovec> landing, bool whole) noexcept {
  Batch batch{queue_.places_for_reads()};
  if (batch.is_full()) return true;
  const bool listed = list(batch, Landing{landing}, whole);
  if (protocol_.misbehaves() || batch.reads().empty()) return listed;
  static_cast<void>(begin(batch));
  return true;
}

// False when the device refused one.
bool FetchedOffers::begin(const Batch& batch) noexcept {
  const std::size_t begun = queue_.begin_reads(batch.reads());
  for (std::size_t read = 0; read < begun; ++read) {
    offers_[batch.index_of(read)].state = Offer::State::kIsRead;
    offers_[batch.index_of(read)].place = reinterpret_cast<const void*>(batch.reads()[read].into[0].addr);
  }
  return begun == batch.reads().size();
}

// Index of the first offer behind the landing once reads of the whole landing have begun, otherwise 0.
// Withdrawn offers stay in the table although the peer has its answer, and may fill it, so nothing is added
// behind them.
std::size_t FetchedOffers::behind_landing(std::size_t left) noexcept {
  std::uint64_t offered = 0;
  const std::size_t end = parts_in_front();
  for (std::size_t i = 0; i < offers_.size(); ++i) {
    if (offers_[i].withdrawn) return 0;
    if (i >= end) continue;
    if (offers_[i].state == Offer::State::kWaits) return 0;
    offered += offers_[i].from.bytes;
  }
  return offered == left ? end : 0;
}

// Begins to read all of the offer at `index`, unless it is begun. Returns the index of the next one; 0 when
// the offer is not of `bytes`, or cannot be read as a whole now.
std::size_t FetchedOffers::read_whole(std::size_t index, std::uint64_t bytes, LandingsAhead& ahead) {
  std::size_t end = index;
  std::uint64_t offered = 0;
  do {
    offered += offers_[end].from.bytes;
  } while (offers_[end++].goes_on);
  if (offered != bytes) return 0;
  if (offers_[index].state != Offer::State::kWaits) return end;
  if (end - index > std::min(queue_.places_for_reads(), kReadsAtOnce)) return 0;
  const weft::detail::Landing place = ahead.place();
  if (place.kind != weft::detail::Landing::Kind::kInto) return 0;
  std::array<iovec, kLandingRunsMax> runs;
  auto unlisted = static_cast<std::size_t>(bytes);
  Landing landing{std::span{runs}.first(place.place.list(runs, unlisted))};
  Batch batch{kReadsAtOnce};
  for (std::size_t i = index; i < end; ++i) {
    if (unlisted > 0 || list_part(batch, landing, offers_[i].from.bytes) < offers_[i].from.bytes) return 0;
    offers_[i].landing = batch.add(offers_[i].from, i);
  }
  return begin(batch) ? end : 0;
}

// Number of parts of consecutive offers at the front of the inbox.
std::size_t FetchedOffers::parts_in_front() noexcept {
  std::size_t parts = 0;
  for (std::size_t places = inbox_.offers_in_front(); places > 0; ++parts) {
    if (!offers_[parts].goes_on) --places;
  }
  return parts;
}

// Lists consecutive offers at the front of the inbox, as far as they belong to this landing.
bool FetchedOffers::list(Batch& batch, Landing landing, bool whole) noexcept {
  std::size_t places = inbox_.offers_in_front();
  for (std::size_t i = 0; places > 0 && !landing.at_end(); ++i) {
    const std::uint64_t bytes = offers_[i].from.bytes;
    if (offers_[i].state != Offer::State::kWaits) {
      landing.pass(bytes);
    } else {
      if (batch.is_full()) return true;
      const std::uint64_t listed = list_part(batch, landing, bytes);
      if (listed < bytes && whole && landing.at_end()) {
        protocol_.misbehaved("offers more than its attachment");
        return true;
      }
      if (listed == 0 || (listed < bytes && !part(i, listed))) return false;
      offers_[i].landing = batch.add(offers_[i].from, i);
    }
    if (!offers_[i].goes_on) --places;
  }
  return true;
}

// As much of the next `bytes` as one read may bring.
std::uint64_t FetchedOffers::list_part(Batch& batch, Landing& landing, std::uint64_t bytes) noexcept {
  std::uint64_t listed = 0;
  while (listed < bytes && !landing.at_end()) {
    const MutableBytes rest = landing.run();
    const MutableBytes run = rest.first(std::min<std::size_t>(rest.size(), bytes - listed));
    if (!batch.list(run, registrations_, segments_max_)) break;
    landing.pass(run.size());
    listed += run.size();
  }
  return listed;
}

// Makes the first `bytes` of an offer a read of their own. Returns false when memory is exhausted.
bool FetchedOffers::part(std::size_t index, std::uint64_t bytes) noexcept {
  if (!has_room(1)) return false;
  Offer& first = offers_[index];
  Offer rest{.from = first.from.slice(bytes, first.from.bytes - bytes), .goes_on = first.goes_on};
  first.from.bytes = bytes;
  first.goes_on = true;
  offers_.push_back(std::move(rest));
  for (std::size_t i = offers_.size() - 1; i > index + 1; --i) std::swap(offers_[i], offers_[i - 1]);
  return true;
}

void FetchedOffers::tell_fetched(Offer& offer) noexcept {
  if (std::exchange(offer.told, true)) return;
  untold_ += static_cast<std::uint32_t>(offer.from.bytes);
  if (!offer.goes_on || offer.withdrawn) tell_untold();
}

void FetchedOffers::tell_untold() noexcept {
  if (untold_ > 0) protocol_.want(MessageKind::kFetched, std::exchange(untold_, 0));
}

std::size_t FetchedOffers::skip(std::size_t bytes) noexcept {
  std::size_t skipped = 0;
  while (skipped < bytes && inbox_.begins_with(Inbox::Kind::kOffer) &&
         offers_.front().state != Offer::State::kIsRead) {
    if (offers_.front().from.bytes > bytes - skipped) {
      protocol_.misbehaved("offers more than its attachment");
      break;
    }
    skipped += pop_front();
  }
  return skipped;
}

std::size_t FetchedOffers::pop_what_is_read() noexcept {
  std::size_t read = 0;
  while (inbox_.begins_with(Inbox::Kind::kOffer) && offers_.front().state == Offer::State::kRead) {
    read += pop_front();
  }
  return read;
}

std::size_t FetchedOffers::pop_front() noexcept {
  Offer& first = offers_.front();
  const auto size = static_cast<std::size_t>(first.from.bytes);
  tell_fetched(first);
  if (!first.goes_on) inbox_.pop_front();
  offers_.pop_front();
  return size;
}

bool FetchedOffers::reads_under_way(bool ahead) noexcept {
  const std::size_t end = ahead ? offers_.size() : parts_in_front();
  for (std::size_t i = 0; i < end; ++i) {
    if (offers_[i].state == Offer::State::kIsRead) return true;
  }
  return false;
}

void FetchedOffers::end() noexcept {
  for (std::size_t i = 0; i < offers_.size(); ++i) offers_[i].landing.reset();
}

}  // namespace weft::detail::verbs_carrier
