// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "transport/ucx/limits.hpp"
#include "transport/ucx/ucx_carrier.hpp"

namespace weft::ucx_carrier {

namespace {

std::uint32_t cost_of(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes + kMessageCost);
}

}  // namespace

// Inside progress. What the peer may not do whatever came before is found here, before anything is kept.
bool UcxCarrier::accept(const MessageHeader& header, std::size_t bytes, bool rendezvous) noexcept {
  if (!protocol_.check(header, bytes)) return false;
  if (protocol_.ahead(header) >= kEarlyMax) return misbehaved("repeats a message"), false;
  if (rendezvous != (header.kind == MessageKind::kPiece))
    return misbehaved("mixes up bytes and pieces"), false;
  if (header.kind == MessageKind::kBytes && !protocol_.credit().use(cost_of(bytes)))
    return misbehaved("overruns its window"), false;
  if (header.kind == MessageKind::kPiece && bytes > kPieceBytes)
    return misbehaved("sent a piece of an impossible size"), false;
  return true;
}

bool UcxCarrier::arrived(const MessageHeader& header, void* data, std::size_t bytes,
                         std::uint64_t attributes) noexcept {
  const bool rendezvous = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  touch();
  if (!accept(header, bytes, rendezvous)) [[unlikely]] {
    return false;
  }
  Arrival arrival{header.kind, Arrival::Memory::kNone, static_cast<std::byte*>(data), bytes};
  if (header.kind == MessageKind::kBytes) arrival.cost = cost_of(bytes);
  if (bytes > 0) {
    const bool ours = rendezvous || (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    arrival.memory = ours ? Arrival::Memory::kUcx : Arrival::Memory::kNone;
    if (!ours && !copy_out(arrival)) return fail(UCS_ERR_NO_MEMORY), false;
  }
  if (take_in_order(header, arrival)) return arrival.memory == Arrival::Memory::kUcx;
  // Not kept after all: UCX takes its memory back when this returns, and not before.
  if (arrival.memory == Arrival::Memory::kCopied) drop(arrival);
  return false;
}

// UCX may deliver in another order over several lanes. False when the message is not kept.
bool UcxCarrier::take_in_order(const MessageHeader& header, const Arrival& arrival) noexcept {
  if (protocol_.ahead(header) != 0) [[unlikely]] {
    return keep_early(header, arrival);
  }
  const bool kept = take_in(header, arrival);
  while (!early_.empty()) {
    const auto next = early_.find(protocol_.taken());
    if (next == early_.end()) break;
    if (!take_in(next->second.header, next->second.arrival)) drop(next->second.arrival);
    early_.erase(next);
  }
  return kept;
}

bool UcxCarrier::keep_early(const MessageHeader& header, const Arrival& arrival) noexcept {
  try {
    if (early_.try_emplace(header.sequence, Early{header, arrival}).second) return true;
    misbehaved("repeats a message");
  } catch (const std::bad_alloc&) {
    fail(UCS_ERR_NO_MEMORY);
  }
  return false;
}

// True when it is in the inbox.
bool UcxCarrier::take_in(const MessageHeader& header, const Arrival& arrival) noexcept {
  if (!protocol_.take(header)) return false;
  switch (header.kind) {
    case MessageKind::kBytes:
      piece_expected_ = false;
      break;
    case MessageKind::kPlace:
      if (header.value > asks_ - places_) return misbehaved("has a place for what was not asked for"), false;
      places_ += header.value;
      return false;
    case MessageKind::kAsk:
      if (++asks_queued_ > kAsksMax) return misbehaved("asks without an end"), false;
      break;
    case MessageKind::kPiece:
      if (!piece_expected_) return misbehaved("sent a piece that has no place"), false;
      if (pieces_queued_ == kPiecesMax) return misbehaved("sends pieces before the last one landed"), false;
      ++pieces_queued_;
      break;
    default:
      break;
  }
  if (!inbox_.push(arrival)) return fail(UCS_ERR_NO_MEMORY), false;
  return true;
}

void UcxCarrier::drop(Arrival& arrival) noexcept {
  if (arrival.memory == Arrival::Memory::kUcx && shared_->alive()) shared_->release(arrival.data);
  if (arrival.memory == Arrival::Memory::kCopied) std::free(arrival.data);
  arrival.memory = Arrival::Memory::kNone;
}

// Into memory of ours. False when there is none.
bool UcxCarrier::copy_out(Arrival& arrival) noexcept {
  void* const copy = std::malloc(arrival.bytes);
  if (copy == nullptr) return false;
  std::memcpy(copy, arrival.data, arrival.bytes);
  drop(arrival);
  arrival.memory = Arrival::Memory::kCopied;
  arrival.data = static_cast<std::byte*>(copy);
  return true;
}

// The connection does not take them now; a small message must not hold a whole buffer of UCX's.
void UcxCarrier::keep_own_copies() noexcept {
  // From the back: what was copied before lies in front of what came since.
  for (std::size_t i = inbox_.size(); i > 0; --i) {
    Arrival& arrival = inbox_[i - 1];
    if (arrival.kind != MessageKind::kBytes) continue;
    if (arrival.memory == Arrival::Memory::kCopied || !copy_out(arrival)) return;
  }
}

Moved UcxCarrier::receive(std::span<const iovec> into, MutableBytes landing) {
  if (landing_.active) return landed();
  while (!inbox_.empty()) {
    switch (inbox_.front().kind) {
      case MessageKind::kBytes:
        return take_bytes(into);
      case MessageKind::kPiece:
        return take_piece(landing);
      case MessageKind::kEnd:
        if (protocol_.take_end()) send_control();
        return Moved::ended();
      default:  // kAsk: everything before it was received, so whoever wants more has a place for it
        inbox_.pop();
        --asks_queued_;
        piece_expected_ = true;
        want_control(MessageKind::kPlace, 1);
    }
  }
  return Moved::blocked();
}

// A message's bytes as a chunk that gives them back to UCX: only as long as few are held, because each holds
// a whole buffer of UCX's however short it is.
ChunkRef UcxCarrier::receive_in_place(bool& exhausted) {
  if (inbox_.empty() || landing_.active) return {};
  Arrival& front = inbox_.front();
  const bool whole =
      front.kind == MessageKind::kBytes && front.memory == Arrival::Memory::kUcx && front.taken == 0;
  if (!whole || reinterpret_cast<std::uintptr_t>(front.data) % 8 != 0) return {};
  ChunkRef chunk = shared_->lend({front.data, front.bytes});
  if (!chunk) return {};
  taken(front);
  inbox_.pop();
  exhausted = inbox_.empty();
  return chunk;
}

Moved UcxCarrier::take_bytes(std::span<const iovec> into) {
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
      taken(front);
      drop(front);
      inbox_.pop();
    }
  }
  return Moved::some(total, inbox_.empty());
}

// A message was received to its end: the peer is told once that is worth a message of its own.
void UcxCarrier::taken(const Arrival& arrival) noexcept {
  protocol_.credit().grant(arrival.cost);
  if (protocol_.credit().untold() >= options_.window_bytes / 2) want_control(MessageKind::kCredit);
}

// Into the attachment's own place where it fits; else (the attachment is not wanted) into memory of ours.
Moved UcxCarrier::take_piece(MutableBytes landing) {
  Arrival& front = inbox_.front();
  void* const piece = front.data;
  std::byte* to = landing.data();
  if (landing.size() < front.bytes) {
    to = static_cast<std::byte*>(std::malloc(front.bytes));
    if (to == nullptr) return Moved::failed(ENOMEM);
    front.memory = Arrival::Memory::kCopied;
  } else {
    front.memory = Arrival::Memory::kNone;
  }
  front.data = to;
  landing_.carrier = this;
  landing_.bytes = front.bytes;
  ucp_request_param_t params{};
  params.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  params.cb.recv_am = &UcxCarrier::on_landed;
  params.user_data = &landing_;
  landing_.active = true;
  landing_.done = false;
  const ucs_status_t status =
      note(landing_, ucp_am_recv_data_nbx(shared_->worker().handle(), piece, to, front.bytes, &params));
  if (status == UCS_INPROGRESS) return landed();
  landing_.active = landing_.done = true;
  landing_.status = status;
  return landed();
}

// What became of the piece at the front of the inbox.
Moved UcxCarrier::landed() {
  // A copy of ours is nobody else's memory.
  if (!landing_.done) return lands_in_place() ? Moved::begun() : Moved::blocked();
  landing_.active = landing_.done = false;
  --pieces_queued_;
  if (landing_.status != UCS_OK || inbox_.empty()) return Moved::failed(ECONNRESET);
  Arrival& front = inbox_.front();
  if (front.memory == Arrival::Memory::kNone) {
    inbox_.pop();
    return Moved::some(landing_.bytes, inbox_.empty());
  }
  // From here on like any other bytes, which cost nothing.
  front.kind = MessageKind::kBytes;
  touch();
  return Moved::blocked();
}

Moved UcxCarrier::reclaim_landing() {
  if (!landing_.active || !lands_in_place()) return Moved::blocked();
  insist_on(landing_);
  return landed();
}

}  // namespace weft::ucx_carrier
