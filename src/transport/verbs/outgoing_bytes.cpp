// SPDX-License-Identifier: Apache-2.0
#include "transport/verbs/outgoing_bytes.hpp"

#include <algorithm>
#include <array>
#include <cerrno>

#include "transport/verbs/limits.hpp"

namespace weft::detail::verbs_carrier {

namespace {

/// Number of queued segments that are considered at once.
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

// Of a message, without its head.
inline std::size_t OutgoingBytes::room() const noexcept {
  return std::min(sender_.peer_message_bytes(), message_bytes_) - kMessageHeaderBytes;
}

// The next part as large as one message, ending before the next offer.
inline OutgoingBytes::Part OutgoingBytes::next_part(std::span<const iovec> from) {
  Part part{.bytes = from.front().iov_len};
  for (std::size_t next = 1; next < from.size() && part.bytes < room(); ++next) {
    // A list is offered from its beginning on, or not.
    const bool goes_on = offered_.choice().is_run(from[next - 1]) && offered_.choice().is_run(from[next]);
    if (!goes_on && offered_.choice().may_take(from.subspan(next))) {
      part.pieces_before_offer = next;
      break;
    }
    part.bytes += from[next].iov_len;
  }
  part.bytes = std::min(part.bytes, room());
  return part;
}

// 0 when nothing may be sent now.
inline std::size_t OutgoingBytes::send_part(std::span<const iovec> from, const Part& part) {
  if (!sender_.send_bytes(from, part.bytes)) return 0;
  offered_.choice().copied(part.bytes);
  return part.bytes;
}

// Beside the longest list.
inline bool OutgoingBytes::may_join(const Part& part) noexcept {
  return part.pieces_before_offer > 0 && part.pieces_before_offer <= kPiecesBeforeMax &&
         part.bytes + kRunsOfferedMax * verbs::RemoteMemory::kEncodedBytes <= room() &&
         offered_.choice().looks_ahead();
}

// Sends a part together with the offer behind it. False when that cannot be offered now.
bool OutgoingBytes::join(std::span<const iovec> from, const Part& part) {
  const auto before = from.first(part.pieces_before_offer);
  const auto behind = from.subspan(part.pieces_before_offer);
  const std::size_t leased = behind.front().iov_len;
  const std::size_t pieces = offered_.takes(behind, leased);
  return pieces > 0 && offered_.offer(behind.first(pieces), leased, {before, part.bytes});
}

Moved OutgoingBytes::send(std::span<const iovec> from, std::size_t leased) {
  if (!offered_.idle() || offered_.takes(from, leased) > 0) return send_around_offers(from, leased);
  const Part part = next_part(from);
  if (may_join(part)) return send_around_offers(from, leased);
  if (const std::size_t sent = send_part(from, part); sent > 0) return Moved::some(sent, false);
  blocked_ = true;
  return turn_.failed() ? Moved::failed(ECONNRESET) : Moved::blocked();
}

// The coming turn reports a failure, and the next call returns it. Bytes started in this call still count.
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

// Offers `from`, or sends a message with it, behind the started bytes. Returns false if neither is possible
// now, or if `from` is the beginning of a list whose rest becomes visible when the started bytes are done.
bool OutgoingBytes::begin_next(std::span<const iovec> from, std::size_t leased, bool is_cut) {
  if (const std::size_t pieces = offered_.takes(from, leased); pieces > 0) {
    return offered_.offer(from.first(pieces), leased);
  }
  if (is_cut && offered_.choice().may_go_on(from)) return false;
  const Part part = next_part(from);
  const bool was_idle = offered_.begun() == 0;
  // The bytes before the offer are done then, and the connection shows the list behind it from its beginning
  // on.
  if (may_join(part) && join(from, part)) return !was_idle;
  if (turn_.failed()) return false;
  const std::size_t bytes = send_part(from, part);
  if (bytes > 0) {
    offered_.sent(bytes);
  } else {
    offered_.cannot_send();
  }
  return bytes > 0;
}

}  // namespace weft::detail::verbs_carrier
