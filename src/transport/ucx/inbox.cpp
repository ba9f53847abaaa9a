// SPDX-License-Identifier: Apache-2.0
#include "transport/ucx/inbox.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <new>

#include "transport/ucx/limits.hpp"

namespace weft::detail::ucx_carrier {

namespace {

std::uint32_t cost_of(std::size_t bytes) {
  return static_cast<std::uint32_t>(bytes + kMessageCost);
}

}  // namespace

bool Inbox::misbehaved(const char* what) noexcept {
  conversation_.misbehaved(what);
  return false;
}

bool Inbox::no_memory() noexcept {
  conversation_.fail(UCS_ERR_NO_MEMORY);
  return false;
}

// Runs inside progress. Detects protocol violations before anything is kept.
bool Inbox::accept(const MessageHeader& header, std::size_t bytes, bool rendezvous) noexcept {
  if (!protocol().check(header, bytes)) return false;
  if (protocol().ahead(header) >= kEarlyMax) return misbehaved("repeats a message");
  if (rendezvous != (header.kind == MessageKind::kPart)) return misbehaved("mixes up bytes and parts");
  if (header.kind == MessageKind::kBytes && !protocol().credit().use(cost_of(bytes))) {
    return misbehaved("overruns its window");
  }
  if (header.kind == MessageKind::kPart && bytes > kPartBytes) {
    return misbehaved("sent a part of an impossible size");
  }
  return true;
}

bool Inbox::arrived(const MessageHeader& header, void* data, std::size_t bytes,
                    std::uint64_t attributes) noexcept {
  const bool rendezvous = (attributes & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  conversation_.touch();
  if (!accept(header, bytes, rendezvous)) [[unlikely]] {
    return false;
  }
  Arrival arrival{header.kind, Arrival::Memory::kNone, static_cast<std::byte*>(data), bytes};
  if (header.kind == MessageKind::kBytes) arrival.cost = cost_of(bytes);
  if (bytes > 0) {
    const bool ours = rendezvous || (attributes & UCP_AM_RECV_ATTR_FLAG_DATA) != 0;
    arrival.memory = ours ? Arrival::Memory::kUcx : Arrival::Memory::kNone;
    if (!ours && !copy_out(arrival)) return no_memory();
  }
  if (take_in_order(header, arrival)) return arrival.memory == Arrival::Memory::kUcx;
  // Not kept after all: UCX takes its memory back when this returns, and not before.
  if (arrival.memory == Arrival::Memory::kCopied) drop(arrival);
  return false;
}

// UCX may deliver in another order over several lanes. False when the message is not kept.
bool Inbox::take_in_order(const MessageHeader& header, const Arrival& arrival) noexcept {
  if (protocol().ahead(header) != 0) [[unlikely]] {
    return keep_early(header, arrival);
  }
  const bool kept = take_in(header, arrival);
  while (!early_.empty()) {
    const auto next = early_.find(protocol().taken());
    if (next == early_.end()) break;
    if (!take_in(next->second.header, next->second.arrival)) drop(next->second.arrival);
    early_.erase(next);
  }
  return kept;
}

bool Inbox::keep_early(const MessageHeader& header, const Arrival& arrival) noexcept {
  try {
    if (early_.try_emplace(header.sequence, Early{header, arrival}).second) return true;
    return misbehaved("repeats a message");
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

// True when it is in the queue.
bool Inbox::take_in(const MessageHeader& header, const Arrival& arrival) noexcept {
  if (!protocol().take(header)) return false;
  switch (header.kind) {
    case MessageKind::kBytes:
      part_expected_ = false;
      break;
    case MessageKind::kPlace:
      if (!sender_.take_places(header.value)) return misbehaved("has a place for what was not asked for");
      return false;
    case MessageKind::kAsk:
      if (++asks_queued_ > kAsksMax) return misbehaved("asks without an end");
      break;
    case MessageKind::kPart:
      if (!part_expected_) return misbehaved("sent a part that has no place");
      if (parts_queued_ == kPartsMax) return misbehaved("sends parts before the last one landed");
      ++parts_queued_;
      break;
    default:
      break;
  }
  if (queue_.full() && !queue_.try_grow()) return no_memory();
  queue_.push_back(Arrival{arrival});
  return true;
}

void Inbox::drop(Arrival& arrival) noexcept {
  if (arrival.memory == Arrival::Memory::kUcx && worker_->alive()) worker_->release(arrival.data);
  if (arrival.memory == Arrival::Memory::kCopied) std::free(arrival.data);
  arrival.memory = Arrival::Memory::kNone;
}

// Into memory of ours. False when there is none.
bool Inbox::copy_out(Arrival& arrival) noexcept {
  void* const copy = std::malloc(arrival.bytes);
  if (copy == nullptr) return false;
  std::memcpy(copy, arrival.data, arrival.bytes);
  drop(arrival);
  arrival.memory = Arrival::Memory::kCopied;
  arrival.data = static_cast<std::byte*>(copy);
  return true;
}

// The connection does not take them now; a small message must not hold a whole buffer of UCX's.
void Inbox::keep_own_copies() noexcept {
  if (queue_.size() <= kHeldMessagesMax) return;
  // From the back: bytes copied earlier lie in front of later ones.
  for (std::size_t i = queue_.size(); i > 0; --i) {
    Arrival& arrival = queue_[i - 1];
    if (arrival.kind != MessageKind::kBytes) continue;
    if (arrival.memory == Arrival::Memory::kCopied || !copy_out(arrival)) return;
  }
}

Moved Inbox::receive(std::span<const iovec> into, std::span<const iovec> landing) {
  if (landing_.active()) return landed();
  while (!queue_.empty()) {
    switch (queue_.front().kind) {
      case MessageKind::kBytes:
        return take_bytes(into);
      case MessageKind::kPart:
        return take_part(landing);
      case MessageKind::kEnd:
        if (protocol().take_end()) sender_.send_control();
        return Moved::ended();
      default:  // kAsk: everything before it was received, so the sender may have a place for more
        queue_.pop_front();
        --asks_queued_;
        part_expected_ = true;
        sender_.want_control(MessageKind::kPlace, 1);
    }
  }
  return Moved::blocked();
}

// A message's bytes as a chunk that gives them back to UCX: only as long as few are held, because each holds
// a whole buffer of UCX's however short it is.
ChunkRef Inbox::receive_in_place(bool& exhausted) {
  if (queue_.empty() || landing_.active()) return {};
  Arrival& front = queue_.front();
  const bool whole =
      front.kind == MessageKind::kBytes && front.memory == Arrival::Memory::kUcx && front.taken == 0;
  if (!whole || reinterpret_cast<std::uintptr_t>(front.data) % 8 != 0) return {};
  ChunkRef chunk = worker_->lend({front.data, front.bytes});
  if (!chunk) return {};
  taken(front);
  queue_.pop_front();
  exhausted = queue_.empty();
  return chunk;
}

Moved Inbox::take_bytes(std::span<const iovec> into) {
  std::size_t total = 0;
  for (iovec place : into) {
    while (place.iov_len > 0 && !queue_.empty() && queue_.front().kind == MessageKind::kBytes) {
      Arrival& front = queue_.front();
      const std::size_t part = std::min(place.iov_len, front.bytes - front.taken);
      std::memcpy(place.iov_base, front.data + front.taken, part);
      front.taken += part;
      total += part;
      place.iov_base = static_cast<std::byte*>(place.iov_base) + part;
      place.iov_len -= part;
      if (front.taken < front.bytes) break;
      taken(front);
      drop(front);
      queue_.pop_front();
    }
  }
  return Moved::some(total, queue_.empty());
}

// A message was received to its end: the peer is notified once the amount is worth a message.
void Inbox::taken(const Arrival& arrival) noexcept {
  protocol().credit().grant(arrival.cost);
  if (protocol().credit().untold() >= window_bytes_ / 2) sender_.want_control(MessageKind::kCredit);
}

// The attachment may have no landing any more; its bytes then go to memory of ours.
Moved Inbox::take_part(std::span<const iovec> landing) {
  Arrival& front = queue_.front();
  void* const descriptor = front.data;
  if (!landing_.place(front, landing)) return Moved::failed(ENOMEM);
  if (landing_.begin(worker_->worker().handle(), descriptor) == UCS_INPROGRESS) return landed();
  --parts_queued_;
  return Moved::failed(ECONNRESET);
}

// Tells the outcome of the part at the front of the queue.
Moved Inbox::landed() {
  // No other side uses our own copy.
  if (!landing_.operation().is_done()) return lands_in_place() ? Moved::begun() : Moved::blocked();
  const ucs_status_t status = landing_.fetch();
  --parts_queued_;
  if (status != UCS_OK || queue_.empty()) return Moved::failed(ECONNRESET);
  if (Arrival& front = queue_.front(); front.memory == Arrival::Memory::kNone) {
    queue_.pop_front();
  } else {
    // From here on like any other bytes, which cost nothing.
    front.kind = MessageKind::kBytes;
  }
  if (landing_.in_place() > 0) return Moved::some(landing_.in_place(), queue_.empty());
  conversation_.touch();
  return Moved::blocked();
}

void Inbox::forget() noexcept {
  const std::size_t kept = landing_.operation().flies() ? 1 : 0;
  for (auto& [sequence, early] : early_) drop(early.arrival);
  early_.clear();
  while (queue_.size() > kept) {
    drop(queue_.back());
    queue_.pop_back();
  }
}

void Inbox::give_up() noexcept {
  landing_.give_up();
  forget();
}

}  // namespace weft::detail::ucx_carrier
