// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/calls/threads/arrived_items.hpp"

#include <utility>

#include "weft/detail/calls/stream/incoming_items.hpp"

namespace weft::detail {

namespace {

/// Adds `item` to `items`, with its attachment unless `came` is null. When memory is exhausted the attachment
/// stays in `came`, because a function of the user's may release it, which must not run under a lock.
bool keep(ItemBlocks& items, Bytes item, MemoryBudget* budget, Buffer* came) noexcept {
  if (came == nullptr) return items.add(item, budget);
  Attachment attachment{std::move(*came)};
  if (items.add(item, budget, &attachment)) return true;
  *came = std::move(attachment.owner());
  return false;
}

}  // namespace

// A reader that has taken all items has reported everything except for less than half a window, and then the
// peer may still send (ReceiveWindow).
std::uint64_t ArrivedItems::take(std::uint64_t taken, ItemBlocks& items, bool waits) noexcept {
  if (state_.in_child()) return 0;
  ExchangeState::Lock lock = state_.lock();
  taken_ += taken;
  if (taken_ != 0 && taken_ >= state_.terms().window / 2) state_.ask(lock);
  if (items.empty()) {
    if (waits) state_.wait(lock, reader_, [this] { return !items_.empty() || over_; });
    items = std::move(items_);
  }
  return state_.terms().window / 8;
}

bool ArrivedItems::would_wait() const noexcept {
  const ExchangeState::Lock lock = state_.lock();
  return items_.empty() && !over_;
}

void ArrivedItems::discard() noexcept {
  if (state_.in_child()) return;
  ExchangeState::Lock lock = state_.lock();
  if (std::exchange(discarded_, true)) return;
  close(true);
  state_.ask(lock);
}

// The thread is woken after the lock was released, so that it does not wait for the lock.
bool ArrivedItems::deliver(IncomingItems& items) noexcept {
  bool all = true;
  bool wakes = false;
  {
    const ExchangeState::Lock lock = state_.lock();
    if (over_) return true;
    while (all && items.has_item()) {
      const Bytes item = items.show();
      all = keep(items_, item, state_.terms().memory.get(), items.attachment());
      if (all) items.hand_over();
    }
    wakes = !items_.empty() && reader_.must_wake();
  }
  if (wakes) reader_.wake();
  return all;
}

void ArrivedItems::end(const Status& why, bool drops) noexcept {
  const ExchangeState::Lock lock = state_.lock();
  state_.note_failure(why);
  close(drops);
}

void ArrivedItems::close(bool drops) noexcept {
  over_ = true;
  if (drops) {
    dropped_.store(true, std::memory_order_release);
    items_.clear();
  }
  reader_.wake_now();
}

}  // namespace weft::detail
