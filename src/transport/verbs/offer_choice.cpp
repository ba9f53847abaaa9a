// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/offer_choice.hpp"

#include <utility>

namespace weft::detail::verbs_carrier {

namespace {

Bytes bytes_of(const iovec& piece) {
  return {static_cast<const std::byte*>(piece.iov_base), piece.iov_len};
}

}  // namespace

OfferChoice::Chosen OfferChoice::choose(std::span<const iovec> next, std::size_t leased) noexcept {
  Listed listed{1, leased};
  if (leased == next.front().iov_len && is_run(next.front())) listed = list(next);
  if (std::exchange(next_is_declined_, false)) to_copy_ = listed.bytes;
  if (listed.bytes < limits_.bytes_min || to_copy_ > 0) return {};
  auto memory = readable_by_peers(bytes_of(next.front()).first(leased));
  if (memory == nullptr) {
    to_copy_ = leased;  // so that this is asked once for each attachment
    return {};
  }
  if (listed.pieces > 1) listed = in_memory(next.first(listed.pieces), *memory);
  if (listed.bytes < limits_.bytes_min || left_out_ > 0) {
    left_out_ -= std::min(left_out_, 1u);
    to_copy_ = listed.bytes;
    return {};
  }
  return {listed.pieces, std::move(memory)};
}

// Of a short one alone `pieces` is 1 as well.
OfferChoice::Listed OfferChoice::list(std::span<const iovec> next) const noexcept {
  Listed listed;
  for (const iovec& piece : next.first(std::min(next.size(), kRunsOfferedMax))) {
    if (!is_run(piece) || piece.iov_len > kOfferBytes - listed.bytes) break;
    ++listed.pieces;
    listed.bytes += piece.iov_len;
  }
  return listed;
}

OfferChoice::Listed OfferChoice::in_memory(std::span<const iovec> pieces,
                                           const Registration& memory) noexcept {
  Listed listed;
  for (const iovec& piece : pieces) {
    if (!memory.has(bytes_of(piece))) break;
    ++listed.pieces;
    listed.bytes += piece.iov_len;
  }
  return listed;
}

bool OfferChoice::would_take(std::span<const iovec> pieces) noexcept {
  const iovec& first = pieces.front();
  if (is_run(first) && list(pieces).bytes < limits_.bytes_min) return false;
  return readable_by_peers(bytes_of(first)) != nullptr;
}

bool OfferChoice::may_go_on(std::span<const iovec> next) noexcept {
  if (to_copy_ > 0 || left_out_ > 0) return false;
  for (const iovec& piece : next) {
    if (!is_run(piece)) return false;
  }
  return readable_by_peers(bytes_of(next.front())) != nullptr;
}

std::shared_ptr<const Registration> OfferChoice::readable_by_peers(Bytes bytes) noexcept {
  auto memory = registrations_.find(bytes);
  if (memory != nullptr && !memory->peers_may_read()) memory.reset();
  return memory;
}

void OfferChoice::declined() noexcept {
  declines_ = std::min(declines_ + 1, kDeclinesCountedMax);
  left_out_ = (1u << declines_) - 1;
}

}  // namespace weft::detail::verbs_carrier
