// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "transport/ucx/path_limits.hpp"
#include "transport/ucx/ucx_path.hpp"

namespace weft::ucx_path {

// Inside progress. What the peer may not do is found here, before anything is kept.
bool UcxPath::accept(const MessageHeader& header, std::size_t bytes, bool rendezvous) noexcept {
  if (header.sequence - next_arrival_ >= kEarlyMax) return misbehaved("repeats a message"), false;
  if (rendezvous != (header.kind == MessageKind::kPiece))
    return misbehaved("mixes up bytes and pieces"), false;
  if (header.kind == MessageKind::kBytes) {
    arrived_ += static_cast<std::uint32_t>(bytes + kMessageCost);
    if (bytes == 0 || arrived_ - received_ > options_.window_bytes)
      return misbehaved("overruns its window"), false;
  } else if (header.kind == MessageKind::kPiece) {
    if (bytes == 0 || bytes > kPieceBytes) return misbehaved("sent a piece of an impossible size"), false;
  } else if (bytes != 0) {
    return misbehaved("sent bytes with a control message"), false;
  }
  if (!heard_ && header.kind != MessageKind::kProbe && header.sequence == 0) {
    return misbehaved("did not begin with a probe"), false;
  }
  return true;
}

bool UcxPath::arrived(const MessageHeader& header, void* data, std::size_t bytes,
                      std::uint64_t attributes) noexcept {
  const bool rendezvous = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (misbehaviour_ != nullptr || end_arrived_ || !accept(header, bytes, rendezvous)) return false;
  touch();
  const bool hold = rendezvous || (bytes > 0 && (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0);
  Arrival arrival{header.kind, static_cast<std::byte*>(data), bytes, 0, hold, nullptr};
  try {
    if (!hold && bytes > 0) {
      arrival.copy = std::make_unique<std::byte[]>(bytes);
      std::memcpy(arrival.copy.get(), data, bytes);
      arrival.data = arrival.copy.get();
    }
    take_in_order(header, std::move(arrival));
  } catch (const std::bad_alloc&) {
    fail(UCS_ERR_NO_MEMORY);
    return false;
  }
  return hold;
}

// UCX may deliver in another order over several lanes.
void UcxPath::take_in_order(const MessageHeader& header, Arrival arrival) {
  if (header.sequence != next_arrival_) {
    if (early_.try_emplace(header.sequence, std::move(arrival)).second) return;
    misbehaved("repeats a message");
    // Its data is ours as soon as the callback that this is in has ended, and shut() gives it back.
    inbox_.push_back(std::move(arrival));
    return;
  }
  // `received` of a message that came early is old, and says nothing new then.
  peer_received_ = header.received;
  take_in(std::move(arrival));
  for (auto next = early_.find(++next_arrival_); next != early_.end(); next = early_.find(++next_arrival_)) {
    take_in(std::move(next->second));
    early_.erase(next);
  }
}

void UcxPath::take_in(Arrival arrival) {
  switch (arrival.kind) {
    case MessageKind::kProbe:
      if (std::exchange(heard_, true)) misbehaved("began twice");
      return;
    case MessageKind::kCredit:
      return;
    case MessageKind::kGrant:
      if (grants_ == asks_) return misbehaved("grants what was not asked for");
      ++grants_;
      return;
    case MessageKind::kAsk:
      if (++asks_queued_ > kAsksMax) return misbehaved("asks without an end");
      break;
    case MessageKind::kPiece:
      // In flight while the last one is being received; the queue holds one more at most.
      if (!piece_expected_) misbehaved("sent a piece that was not granted");
      break;
    case MessageKind::kEnd:
      end_arrived_ = true;
      break;
    case MessageKind::kBytes:
      piece_expected_ = false;
      break;
  }
  inbox_.push_back(std::move(arrival));
}

void UcxPath::drop(Arrival& arrival) noexcept {
  if (arrival.held && domain_->alive()) ucp_am_data_release(domain_->worker().handle(), arrival.data);
  arrival.held = false;
}

// The connection does not take them now; a small message must not hold a whole buffer of UCX's.
void UcxPath::keep_own_copies() {
  for (Arrival& arrival : inbox_) {
    if (!arrival.held || arrival.kind == MessageKind::kPiece) continue;
    std::unique_ptr<std::byte[]> copy{new (std::nothrow) std::byte[arrival.bytes]};
    if (copy == nullptr) return;
    std::memcpy(copy.get(), arrival.data, arrival.bytes);
    drop(arrival);
    arrival.copy = std::move(copy);
    arrival.data = arrival.copy.get();
  }
}

Moved UcxPath::receive(std::span<const iovec> into, MutableBytes landing) {
  if (landing_.active) return landed();
  while (!inbox_.empty()) {
    switch (inbox_.front().kind) {
      case MessageKind::kBytes:
        return take_bytes(into);
      case MessageKind::kPiece:
        return take_piece(landing);
      case MessageKind::kEnd:
        return Moved::ended();
      default:  // kAsk: everything before it was received, so whoever wants more has a place for it
        inbox_.pop_front();
        --asks_queued_;
        piece_expected_ = true;
        want_control(MessageKind::kGrant);
    }
  }
  return Moved::blocked();
}

Moved UcxPath::take_bytes(std::span<const iovec> into) {
  std::size_t total = 0;
  for (iovec place : into) {
    while (place.iov_len > 0 && !inbox_.empty() && inbox_.front().kind == MessageKind::kBytes) {
      Arrival& front = inbox_.front();
      const std::size_t part = std::min(place.iov_len, front.bytes - front.taken);
      std::memcpy(place.iov_base, front.data + front.taken, part);
      front.taken += part;
      total += part;
      place.iov_base = static_cast<std::byte*>(place.iov_base) + part;
      place.iov_len -= part;
      if (front.taken < front.bytes) break;
      taken(front.bytes);
      drop(front);
      inbox_.pop_front();
    }
  }
  return Moved::some(total, inbox_.empty());
}

// A message was received to its end: the peer is told once that is worth a message of its own.
void UcxPath::taken(std::size_t bytes) noexcept {
  received_ += static_cast<std::uint32_t>(bytes + kMessageCost);
  if (received_ - received_told_ >= options_.window_bytes / 2) want_control(MessageKind::kCredit);
}

// Into the attachment's own place where it fits; else (the attachment is not wanted) into memory of ours.
Moved UcxPath::take_piece(MutableBytes landing) {
  Arrival& front = inbox_.front();
  std::byte* to = landing.data();
  if (landing.size() < front.bytes) {
    front.copy.reset(new (std::nothrow) std::byte[front.bytes]);
    if (front.copy == nullptr) return Moved::failed(ENOMEM);
    to = front.copy.get();
  }
  landing_.path = this;
  landing_.bytes = front.bytes;
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.cb.recv_am = &UcxPath::on_landed;
  params.user_data = &landing_;
  void* const piece = front.data;
  front.held = false;
  landing_.active = true;
  landing_.done = false;
  const ucs_status_t status =
      note(landing_, ucp_am_recv_data_nbx(domain_->worker().handle(), piece, to, front.bytes, &params));
  if (status == UCS_INPROGRESS) return Moved::blocked();
  landing_.active = landing_.done = true;
  landing_.status = status;
  return landed();
}

// What became of the piece at the front of the inbox.
Moved UcxPath::landed() {
  if (!landing_.done) return Moved::blocked();
  landing_.active = landing_.done = false;
  if (landing_.status != UCS_OK || inbox_.empty()) return Moved::failed(ECONNRESET);
  Arrival& front = inbox_.front();
  if (front.copy == nullptr) {
    inbox_.pop_front();
    return Moved::some(landing_.bytes, inbox_.empty());
  }
  // From here on like any other bytes, though they were never in the window.
  front.kind = MessageKind::kBytes;
  front.data = front.copy.get();
  received_ -= static_cast<std::uint32_t>(front.bytes + kMessageCost);
  touch();
  return Moved::blocked();
}

Moved UcxPath::reclaim_landing() {
  const bool in_landing = landing_.active && !inbox_.empty() && inbox_.front().copy == nullptr;
  if (!in_landing) return Moved::blocked();
  insist_on(landing_);
  return landed();
}

}  // namespace weft::ucx_path
