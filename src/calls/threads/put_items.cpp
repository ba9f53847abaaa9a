// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/put_items.hpp"

#include <utility>

#include "weft/detail/wire/heads.hpp"

namespace weft::detail {

bool PutItems::await_room() noexcept {
  if (state_.in_child()) return false;
  ExchangeState::Lock lock = state_.lock();
  state_.wait(lock, writer_, [this] { return is_over() || has_room(); });
  return !is_over();
}

bool PutItems::would_wait() const noexcept {
  const ExchangeState::Lock lock = state_.lock();
  return !is_over() && !has_room();
}

PutItems::Put PutItems::put(Bytes item) noexcept {
  ExchangeState::Lock lock = state_.lock();
  if (is_over()) return Put::kNotTaken;
  if (!items_.add(item, state_.terms().memory.get())) {
    state_.give_up(lock, Status::of<kNoMemory>());
    return Put::kNotTaken;
  }
  return count(lock, item.size());
}

PutItems::Put PutItems::put(ItemBlocks& item) noexcept {
  ExchangeState::Lock lock = state_.lock();
  if (is_over()) return Put::kNotTaken;
  const Attachment* const attachment = item.attachment();
  const std::size_t bytes = item.front().size();
  const std::size_t attachment_bytes = attachment != nullptr ? attachment->size() : 0;
  items_.append(item);
  return count(lock, bytes, attachment_bytes);
}

PutItems::Put PutItems::count(ExchangeState::Lock& lock, std::size_t bytes,
                              std::size_t attachment_bytes) noexcept {
  waiting_ += wire::item_cost(static_cast<std::uint32_t>(bytes), attachment_bytes);
  const bool is_full = waiting_ >= kRoom;
  if (!in_hand_) state_.ask(lock);
  return is_full ? Put::kFull : Put::kTaken;
}

void PutItems::end_writing() noexcept {
  if (state_.in_child()) return;
  ExchangeState::Lock lock = state_.lock();
  if (std::exchange(ended_, true) || over_) return;
  writer_.wake_now();
  if (!in_hand_) state_.ask(lock);
}

Status PutItems::flush() noexcept {
  if (state_.in_child()) return {};
  ExchangeState::Lock lock = state_.lock();
  state_.wait(lock, writer_, [this] { return over_ || waiting_ == 0; });
  return lost_ ? state_.noted_failure() : Status{};
}

bool PutItems::have_left() const noexcept {
  const ExchangeState::Lock lock = state_.lock();
  return over_ || waiting_ == 0;
}

// The thread is woken after the lock was released, so that it does not wait for the lock.
ItemBlocks PutItems::take(std::uint64_t sent, bool& ends) noexcept {
  ItemBlocks next;
  bool wakes = false;
  {
    const ExchangeState::Lock lock = state_.lock();
    waiting_ -= over_ ? 0 : sent;
    next = std::move(items_);
    in_hand_ = !next.empty();
    ends = ended_;
    wakes = sent != 0 && waiting_ <= kRoom / 2 && writer_.must_wake();
  }
  if (wakes) writer_.wake();
  return next;
}

void PutItems::sent(std::uint64_t cost) noexcept {
  if (cost == 0) return;
  bool wakes = false;
  {
    const ExchangeState::Lock lock = state_.lock();
    waiting_ -= over_ ? 0 : cost;
    wakes = waiting_ <= kRoom / 2 && writer_.must_wake();
  }
  if (wakes) writer_.wake();
}

void PutItems::end(const Status& why) noexcept {
  ItemBlocks dropped;
  const ExchangeState::Lock lock = state_.lock();
  state_.note_failure(why);
  dropped = close();
}

ItemBlocks PutItems::close() noexcept {
  over_ = true;
  lost_ = lost_ || waiting_ != 0;
  waiting_ = 0;
  writer_.wake_now();
  return std::move(items_);
}

}  // namespace weft::detail
