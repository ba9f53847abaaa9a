// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

/// A hook by which an object sits in one IntrusiveList; leaves its list when destroyed.
/// `Tag` lets one object sit in several lists at once.
template <typename Tag = void>
class ListHook {
 public:
  ListHook() = default;
  ListHook(const ListHook&) = delete;
  ListHook& operator=(const ListHook&) = delete;
  ~ListHook() { unlink(); }

  bool linked() const { return next_ != nullptr; }
  void unlink() {
    if (!linked()) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = nullptr;
  }

 private:
  template <typename T, typename ListTag>
  friend class IntrusiveList;

  ListHook* next_ = nullptr;
  ListHook* previous_;  // while linked; hooks are made and dropped with every call
};

/// A doubly linked list of objects that derive from ListHook<Tag>. Does not own its elements, and never
/// allocates.
template <typename T, typename Tag = void>
class IntrusiveList {
 public:
  using Hook = ListHook<Tag>;

  IntrusiveList() { head_.next_ = head_.previous_ = &head_; }
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;
  ~IntrusiveList() {
    while (!empty()) head_.next_->unlink();
    head_.next_ = nullptr;
  }

  bool empty() const { return head_.next_ == &head_; }
  /// The element behind `element`, which is in this list; null behind the last one.
  T* after(T& element) {
    Hook* const next = static_cast<Hook&>(element).next_;
    return next == &head_ ? nullptr : static_cast<T*>(next);
  }
  T& front() { return *static_cast<T*>(head_.next_); }
  T& back() { return *static_cast<T*>(head_.previous_); }

  void push_back(T& object) {
    Hook& hook = object;
    WEFT_ASSERT(!hook.linked(), "an object sits in a list once");
    hook.previous_ = head_.previous_;
    hook.next_ = &head_;
    head_.previous_->next_ = &hook;
    head_.previous_ = &hook;
  }

  void push_front(T& object) {
    Hook& hook = object;
    WEFT_ASSERT(!hook.linked(), "an object sits in a list once");
    hook.previous_ = &head_;
    hook.next_ = head_.next_;
    head_.next_->previous_ = &hook;
    head_.next_ = &hook;
  }

  T& pop_front() {
    WEFT_ASSERT(!empty(), "pop_front of an empty list");
    Hook* first = head_.next_;
    head_.next_ = first->next_;
    head_.next_->previous_ = &head_;
    first->next_ = nullptr;
    return *static_cast<T*>(first);
  }

  /// Moves everything from `other` to the end of this list.
  void splice_back(IntrusiveList& other) {
    if (other.empty()) return;
    Hook* first = other.head_.next_;
    Hook* last = other.head_.previous_;
    other.head_.next_ = other.head_.previous_ = &other.head_;
    first->previous_ = head_.previous_;
    head_.previous_->next_ = first;
    last->next_ = &head_;
    head_.previous_ = last;
  }

  /// Calls `visit(T&)` on each; `visit` may unlink the object it is given, and no other.
  template <typename Visit>
  void for_each(Visit&& visit) {
    for (Hook* hook = head_.next_; hook != &head_;) {
      Hook* next = hook->next_;
      visit(*static_cast<T*>(hook));
      hook = next;
    }
  }

 private:
  Hook head_;
};

}  // namespace weft::detail
