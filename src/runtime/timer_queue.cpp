// SPDX-License-Identifier: Apache-2.0
#include <utility>

#include "weft/detail/runtime/timer.hpp"

namespace weft::detail {

void TimerQueue::insert(Timer& timer, TimePoint at) noexcept {
  timer.at_ = at;
  timer.sequence_ = next_sequence_++;
  timer.child_ = timer.next_ = timer.previous_ = nullptr;
  timer.due_ = false;
  root_ = root_ == nullptr ? &timer : meld(root_, &timer);
  ++size_;
}

void TimerQueue::remove(Timer& timer) noexcept {
  if (timer.due_) {
    unlink_due(timer);
  } else {
    unlink_waiting(timer);
  }
  --size_;
}

void TimerQueue::collect_due(TimePoint now) noexcept {
  while (root_ != nullptr && root_->at_ <= now) {
    Timer* timer = root_;
    unlink_waiting(*timer);
    timer->due_ = true;
    timer->previous_ = due_tail_;
    (due_tail_ == nullptr ? due_head_ : due_tail_->next_) = timer;
    due_tail_ = timer;
  }
}

Timer* TimerQueue::pop_due() noexcept {
  Timer* timer = due_head_;
  if (timer != nullptr) remove(*timer);
  return timer;
}

// Makes the later of two roots the first child of the earlier one.
Timer* TimerQueue::meld(Timer* a, Timer* b) noexcept {
  if (before(*b, *a)) std::swap(a, b);
  b->next_ = a->child_;
  if (a->child_ != nullptr) a->child_->previous_ = b;
  b->previous_ = a;
  a->child_ = b;
  return a;
}

// The two passes that make the heap's amortised bound: melds pairs from the left, then all of those from the
// right.
Timer* TimerQueue::merge_siblings(Timer* first) noexcept {
  Timer* pairs = nullptr;
  while (first != nullptr) {
    Timer* a = first;
    Timer* b = a->next_;
    first = b == nullptr ? nullptr : b->next_;
    a->next_ = a->previous_ = nullptr;
    if (b != nullptr) {
      b->next_ = b->previous_ = nullptr;
      a = meld(a, b);
    }
    a->next_ = pairs;
    pairs = a;
  }
  Timer* root = nullptr;
  while (pairs != nullptr) {
    Timer* pair = pairs;
    pairs = pair->next_;
    pair->next_ = nullptr;
    root = root == nullptr ? pair : meld(root, pair);
  }
  return root;
}

void TimerQueue::unlink_waiting(Timer& timer) noexcept {
  Timer* below = merge_siblings(timer.child_);
  if (root_ == &timer) {
    root_ = below;
  } else {
    const bool first_child = timer.previous_->child_ == &timer;
    (first_child ? timer.previous_->child_ : timer.previous_->next_) = timer.next_;
    if (timer.next_ != nullptr) timer.next_->previous_ = timer.previous_;
    if (below != nullptr) root_ = meld(root_, below);
  }
  timer.child_ = timer.next_ = timer.previous_ = nullptr;
}

void TimerQueue::unlink_due(Timer& timer) noexcept {
  (timer.previous_ == nullptr ? due_head_ : timer.previous_->next_) = timer.next_;
  (timer.next_ == nullptr ? due_tail_ : timer.next_->previous_) = timer.previous_;
  timer.next_ = timer.previous_ = nullptr;
  timer.due_ = false;
}

}  // namespace weft::detail
