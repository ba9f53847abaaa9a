// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/outbox.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/wire/frame.hpp"

namespace weft::detail {

namespace {

std::byte* aligned_up(std::byte* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  return at + ((8 - (address & 7)) & 7);
}

// Kept out of line: the usual queue has no sealed pieces.
[[gnu::noinline]] std::size_t sealed_segments(const QueuedPieces& pieces, std::span<iovec> into) noexcept {
  std::size_t filled = 0;
  for (std::size_t index = 0; index < pieces.size() && filled < into.size(); ++index) {
    const QueuedPiece& piece = pieces[index];
    if (piece.is_gathered()) {
      filled += piece.list_runs(into.subspan(filled));
    } else if (piece.size > 0) {
      into[filled++] = {const_cast<std::byte*>(piece.data), piece.size};
    }
  }
  return filled;
}

// Returns how many of `bytes` are behind all sealed pieces.
[[gnu::noinline]] std::size_t consume_sealed(QueuedPieces& pieces, std::size_t bytes,
                                             std::size_t& sealed_bytes) noexcept {
  while (pieces.size() > 0 && (bytes > 0 || pieces[0].size == 0)) {
    QueuedPiece& front = pieces[0];
    const std::size_t part = std::min(bytes, front.size);
    front.drop_front(part);
    sealed_bytes -= part;
    bytes -= part;
    if (front.size > 0) break;
    SendLease* const lease = pieces.pop().lease;
    if (lease != nullptr) lease->on_released(true);
  }
  return bytes;
}

}  // namespace

// Sees to room for `bytes` behind the cursor, in another chunk if need be; the cursor is at `misalignment`
// modulo 8 then.
bool Outbox::make_room(std::size_t bytes, std::size_t misalignment) noexcept {
  if (extend_limit(bytes)) {
    tell_queued();
    return true;
  }
  if (!pieces_.reserve(1)) return false;
  ChunkRef chunk = chunks_.acquire(bytes + misalignment);
  if (!chunk) return false;
  tell_queued();
  seal();
  move_cursor(chunk->data() + misalignment);
  open_begin_ = cursor_;
  open_chunk_ = std::move(chunk);
  return extend_limit(bytes);
}

std::size_t Outbox::held_bytes(std::size_t more) const noexcept {
  const std::size_t left =
      open_chunk_ ? static_cast<std::size_t>(open_chunk_->data() + open_chunk_->capacity() - cursor_) : 0;
  return pieces_.held_bytes(open_chunk_) + (more <= left ? 0 : std::max(more, chunks_.chunk_bytes()));
}

// Lets the open segment grow to the next place where it is looked whether much is queued.
bool Outbox::extend_limit(std::size_t bytes) noexcept {
  if (!open_chunk_) return false;
  std::byte* const end = open_chunk_->data() + open_chunk_->capacity();
  const auto left = static_cast<std::size_t>(end - cursor_);
  if (left < bytes) return false;
  limit_ = cursor_ + std::min(left, std::max<std::size_t>(bytes, policy_.early_sends.bytes()));
  return true;
}

void Outbox::tell_queued() noexcept {
  if ((empty() || handed_over() == position()) && drain_ != nullptr) drain_->on_queued();
}

void Outbox::tell_much() noexcept {
  // A part of the queue may be started already.
  if (!policy_.early_sends.are_due(position() - handed_over(), frames_) || giving_back_ || drain_ == nullptr)
    return;
  policy_.early_sends.expect_more(std::max(frames_, 1));
  drain_->on_much_queued();
}

void Outbox::take_back(std::byte* at) noexcept {
  WEFT_ASSERT(open_begin_ <= at && at <= cursor_, "only what was queued last is taken back");
  cursor_ = at;
  --frames_;
  if (empty()) drained();
}

bool Outbox::append_leased(Bytes bytes, SendLease& lease, bool more_follows) noexcept {
  // The lease of no bytes stands in the queue until everything before it has left.
  const bool marks = bytes.empty() && !more_follows && !attachment_.begun();
  if (marks && empty()) {
    lease.on_released(true);
    return true;
  }
  if (marks) {
    if (!pieces_.reserve(2)) return false;
    seal_and_push({nullptr, 0, &lease}, cursor_);
    tell_much();
    return true;
  }
  const bool copied = bytes.empty() || policy_.leases.copies(bytes.size());
  const std::size_t room = (copied ? bytes.size() : 8) + QueuedAttachment::kEndBytesMax;
  // Two pieces: the open one may be sealed, and the lease is one.
  if (!pieces_.reserve(2)) return false;
  if (!open_chunk_ || room > static_cast<std::size_t>(limit_ - cursor_)) {
    if (!make_room(room, attachment_.misalignment()) || !pieces_.reserve(2)) return false;
  }
  tell_queued();
  if (copied) {
    // Others may write to the memory meanwhile, so the copy is what counts.
    if (!bytes.empty()) std::memcpy(cursor_, bytes.data(), bytes.size());
    attachment_.add({cursor_, bytes.size()});
    cursor_ += bytes.size();
  } else {
    attachment_.add(bytes);
    seal_and_push({bytes.data(), bytes.size(), &lease}, aligned_up(cursor_) + attachment_.misalignment());
  }
  if (!more_follows) cursor_ = attachment_.end(cursor_);
  if (copied) lease.on_released(true);
  if (!more_follows) tell_much();
  return true;
}

bool Outbox::append_copied(RunCursor<const std::byte>& from, std::size_t bytes) noexcept {
  WEFT_ASSERT(bytes > 0, "an attachment that has no bytes is none");
  if (attachment_.begun()) return false;  // there was no memory for the rest of one: the connection ends
  const std::size_t room = bytes + QueuedAttachment::kEndBytesMax;
  if (room > static_cast<std::size_t>(limit_ - cursor_) && !make_room(room, 0)) [[unlikely]] {
    return false;
  }
  std::byte* const begin = cursor_;
  const bool checksums = attachment_.has_checksums();
  const auto padded = static_cast<std::size_t>(wire::padded(bytes));
  // The padding is the end of the last eight bytes, which the copy then overwrites from the front.
  if (!checksums) store_le<std::uint64_t>(begin + padded - 8, 0);
  std::byte* to = begin;
  from.take(bytes, [&to](Bytes run) {
    std::memcpy(to, run.data(), run.size());
    to += run.size();
  });
  WEFT_ASSERT(to == begin + bytes, "an attachment is as long as it was said to be");
  if (checksums) [[unlikely]] {
    attachment_.add({begin, bytes});
    cursor_ = attachment_.end(to);
  } else {
    cursor_ = begin + padded;
  }
  tell_much();
  return true;
}

// The list of the runs lies in the open chunk, in front of the next queued bytes there.
std::size_t Outbox::append_gathered(RunCursor<const std::byte>& from, std::size_t bytes,
                                    SendLease& lease) noexcept {
  constexpr std::size_t kListBytes = LeasePolicy::kGatheredRunsMax * sizeof(iovec);
  constexpr std::size_t kRoom = 8 + kListBytes + 8 + QueuedAttachment::kEndBytesMax;
  if (!pieces_.reserve(2)) return 0;
  if (!open_chunk_ || kRoom > static_cast<std::size_t>(limit_ - cursor_)) {
    if (!make_room(kRoom, attachment_.misalignment()) || !pieces_.reserve(2)) return 0;
  }
  tell_queued();
  std::byte* const list = aligned_up(cursor_);
  std::byte* behind = list;
  std::size_t queued = 0;
  while (queued < bytes && behind < list + kListBytes) {
    Bytes run = from.rest();
    run = run.first(std::min(run.size(), bytes - queued));
    if (queued > 0 && !policy_.leases.gathers(run.size())) break;
    behind =
        reinterpret_cast<std::byte*>(new (behind) iovec{const_cast<std::byte*>(run.data()), run.size()} + 1);
    attachment_.add(run);
    from.pass(run.size());
    queued += run.size();
  }
  seal_and_push({list, queued, &lease, open_chunk_}, behind + attachment_.misalignment());
  if (queued < bytes) return queued;
  cursor_ = attachment_.end(cursor_);
  tell_much();
  return queued;
}

// Closes the open piece, puts a leased one behind it, and goes on at `next` in the same chunk.
void Outbox::seal_and_push(QueuedPiece piece, std::byte* next) noexcept {
  ChunkRef chunk = open_chunk_;
  seal();
  sealed_bytes_ += piece.size;
  origin_ -= piece.size;  // its bytes come before the cursor
  pieces_.push(std::move(piece));
  open_chunk_ = std::move(chunk);
  move_cursor(next);
  open_begin_ = cursor_;
}

bool Outbox::put_in(const LentRuns& runs, SendLease* lease, const ChunkRef& chunk,
                    bool more_follows) noexcept {
  if (!pieces_.reserve(2 * runs.runs().size())) return false;
  for (const LentRuns::Run& run : runs.runs()) {
    WEFT_ASSERT(open_begin_ <= run.at && run.at <= cursor_, "runs are put into what was queued last");
    const auto before = static_cast<std::size_t>(run.at - open_begin_);
    if (before > 0) pieces_.push({open_begin_, before, nullptr, open_chunk_});
    pieces_.push({run.bytes.data(), run.bytes.size(), lease, chunk});
    sealed_bytes_ += before + run.bytes.size();
    origin_ -= run.bytes.size();  // its bytes come before the cursor
    open_begin_ = run.at;
  }
  if (!more_follows) tell_much();
  return true;
}

// Nothing else is ever read in place.
bool Outbox::leads(const SendLease& lease) const noexcept {
  const std::uint32_t first = pieces_.first_with_bytes();
  std::uint64_t begins = counters_.bytes.get();
  for (std::uint32_t index = first; index < pieces_.size(); ++index) {
    if (index > first && begins >= begun_bytes_) return false;
    if (pieces_[index].lease == &lease) return true;
    begins += pieces_[index].size;
  }
  return false;
}

bool Outbox::take_over(SendLease& lease) noexcept {
  if (drain_ != nullptr && leads(lease)) drain_->on_take_back();
  for (std::size_t index = 0; index < pieces_.size(); ++index) {
    QueuedPiece& piece = pieces_[index];
    if (piece.lease != &lease) continue;
    if (piece.size != 0) {  // a mark has none
      ChunkRef chunk = chunks_.acquire(piece.size);
      if (!chunk) return false;
      if (piece.is_gathered()) {
        piece.copy_runs(chunk->data());
      } else {
        std::memcpy(chunk->data(), piece.data, piece.size);
      }
      piece.data = chunk->data();
      piece.chunk = std::move(chunk);
    }
    std::exchange(piece.lease, nullptr)->on_released(false);
    return true;
  }
  return true;
}

std::size_t Outbox::segments(std::span<iovec> into) const noexcept {
  std::size_t filled = pieces_.size() == 0 ? 0 : sealed_segments(pieces_, into);
  if (cursor_ != open_begin_ && filled < into.size()) {
    into[filled++] = {open_begin_, static_cast<std::size_t>(cursor_ - open_begin_)};
  }
  return filled;
}

void Outbox::consume(std::size_t bytes) noexcept {
  WEFT_ASSERT(bytes <= queued_bytes(), "no more can leave than was queued");
  giving_back_ = true;
  counters_.bytes.add(bytes);
  counters_.frames.add(std::exchange(frames_, 0));
  ++counters_.sends;
  if (pieces_.size() > 0) bytes = consume_sealed(pieces_, bytes, sealed_bytes_);
  open_begin_ += bytes;
  giving_back_ = false;
  if (empty()) drained();
}

void Outbox::release_all() noexcept {
  if (drain_ != nullptr) drain_->on_take_back();
  drop_all();
}

void Outbox::release_leases() noexcept {
  giving_back_ = true;
  if (drain_ != nullptr) drain_->on_take_back();
  for (std::size_t index = 0; index < pieces_.size(); ++index) {
    if (SendLease* const lease = std::exchange(pieces_[index].lease, nullptr)) lease->on_released(false);
  }
  giving_back_ = false;
}

void Outbox::drop_all() noexcept {
  giving_back_ = true;
  while (pieces_.size() > 0 || open_chunk_) {
    while (pieces_.size() > 0) {
      const QueuedPiece front = pieces_.pop();
      sealed_bytes_ -= front.size;
      if (front.lease != nullptr) front.lease->on_released(false);
    }
    open_begin_ = cursor_;
    attachment_.drop();
    drained();
  }
  giving_back_ = false;
}

// Nothing is queued: gives the memory back, except for what makes the next use cheap.
void Outbox::drained() noexcept {
  if (attachment_.misalignment() != 0) return;  // inside an attachment the cursor says where its padding ends
  open_chunk_.reset();
  move_cursor(nullptr);
  open_begin_ = limit_ = nullptr;
  if (pieces_.size() == 0) pieces_.trim();
}

// Closes the open piece; the caller moves the cursor afterwards. The sealed piece keeps its chunk, if it has
// any bytes.
void Outbox::seal() noexcept {
  const auto size = static_cast<std::size_t>(cursor_ - open_begin_);
  if (size > 0) {
    sealed_bytes_ += size;
    pieces_.push({open_begin_, size, nullptr, std::move(open_chunk_)});
  }
  open_chunk_.reset();
}

}  // namespace weft::detail
