// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/outgoing_bytes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

namespace weft::detail::verbs_carrier {

namespace {

/// Of what is queued, so many pieces are looked at.
constexpr std::size_t kSegmentsLookedAt = 64;

/// The part of `from` that is behind its first `bytes`, in `room`.
std::span<const iovec> behind(std::span<const iovec> from, std::size_t bytes,
                              std::array<iovec, kSegmentsLookedAt>& room) noexcept {
  while (!from.empty() && bytes >= from.front().iov_len) {
    bytes -= from.front().iov_len;
    from = from.subspan(1);
  }
  from = from.first(std::min(from.size(), room.size()));
  std::ranges::copy(from, room.begin());
  if (from.empty()) return {};
  room.front().iov_base = static_cast<std::byte*>(room.front().iov_base) + bytes;
  room.front().iov_len -= bytes;
  return std::span{room}.first(from.size());
}

}  // namespace

// As much as a message holds; it ends before what is to be offered. 0 when nothing may be sent now.
inline std::size_t OutgoingBytes::send_message(std::span<const iovec> from) {
  const std::size_t room = std::min(sender_.peer_message_bytes(), message_bytes_) - kMessageHeaderBytes;
  std::size_t bytes = from.front().iov_len;
  for (std::size_t next = 1; next < from.size() && bytes < room; ++next) {
    // A list is offered from its beginning on, or not.
    const bool goes_on = offered_.choice().is_run(from[next - 1]) && offered_.choice().is_run(from[next]);
    if (!goes_on && offered_.choice().may_take(from.subspan(next))) break;
    bytes += from[next].iov_len;
  }
  bytes = std::min(bytes, room);
  if (!sender_.send_bytes(from, bytes)) return 0;
  offered_.choice().copied(bytes);
  return bytes;
}

Moved OutgoingBytes::send(std::span<const iovec> from, std::size_t leased) {
  if (!offered_.idle() || offered_.takes(from, leased) > 0) return send_around_offers(from, leased);
  if (const std::size_t sent = send_message(from); sent > 0) return Moved::some(sent, false);
  blocked_ = true;
  return turn_.failed() ? Moved::failed(ECONNRESET) : Moved::blocked();
}

// A failure is told by the turn that comes, and the next call says it: what was begun in this one counts.
Moved OutgoingBytes::send_around_offers(std::span<const iovec> from, std::size_t leased) {
  if (const std::size_t done = offered_.take_done(); done > 0) return Moved::some(done, false);
  bool all_begun = false;
  while (offered_.goes_on()) {
    std::array<iovec, kSegmentsLookedAt> room;
    const auto rest = behind(from, offered_.begun(), room);
    all_begun = rest.empty();
    if (all_begun) break;
    const bool is_cut = offered_.begun() > 0 && from.size() >= kSegmentsLookedAt;
    if (!begin_next(rest, offered_.begun() == 0 ? leased : rest.front().iov_len, is_cut)) break;
  }
  if (const std::size_t done = offered_.take_done(); done > 0) return Moved::some(done, false);
  blocked_ = true;
  if (offered_.begun() > 0) return Moved::begun(offered_.begun(), !all_begun);
  return turn_.failed() ? Moved::failed(ECONNRESET) : Moved::blocked();
}

// Offers `from`, or sends a message with it, behind what is begun. False when that cannot be now, or `from`
// is the beginning of a list, of which more is shown when what is begun is done.
bool OutgoingBytes::begin_next(std::span<const iovec> from, std::size_t leased, bool is_cut) {
  if (const std::size_t pieces = offered_.takes(from, leased); pieces > 0) {
    return offered_.offer(from.first(pieces), leased);
  }
  if (is_cut && offered_.choice().may_go_on(from)) return false;
  const std::size_t bytes = send_message(from);
  if (bytes > 0) {
    offered_.sent(bytes);
  } else {
    offered_.cannot_send();
  }
  return bytes > 0;
}

}  // namespace weft::detail::verbs_carrier
