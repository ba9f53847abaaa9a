// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

/// A queue whose capacity is fixed, or grows when it is asked to; allocates then only.
template <typename T>
class Ring {
 public:
  /// Makes a ring without room, which try_grow() makes.
  Ring() noexcept = default;
  explicit Ring(std::size_t capacity) : capacity_(capacity) {
    WEFT_ASSERT(capacity > 0, "a queue has room for at least one value");
    slots_ = std::allocator<T>{}.allocate(capacity);
  }
  Ring(const Ring&) = delete;
  Ring& operator=(const Ring&) = delete;
  ~Ring() {
    for (; size_ > 0; --size_, advance()) std::destroy_at(slots_ + first_);
    if (slots_ != nullptr) std::allocator<T>{}.deallocate(slots_, capacity_);
  }

  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool empty() const noexcept { return size_ == 0; }
  bool full() const noexcept { return size_ == capacity_; }

  /// Doubles the capacity, and keeps the elements. Returns false, without a change, when memory is exhausted.
  bool try_grow() noexcept {
    static_assert(std::is_nothrow_move_constructible_v<T>);
    const std::size_t capacity = capacity_ == 0 ? kFirstCapacity : capacity_ * 2;
    T* larger = nullptr;
    try {
      larger = std::allocator<T>{}.allocate(capacity);
    } catch (const std::bad_alloc&) {
      return false;
    }
    for (std::size_t i = 0; i < size_; ++i) {
      std::construct_at(larger + i, std::move((*this)[i]));
      std::destroy_at(&(*this)[i]);
    }
    if (slots_ != nullptr) std::allocator<T>{}.deallocate(slots_, capacity_);
    slots_ = larger;
    capacity_ = capacity;
    first_ = 0;
    return true;
  }

  void push_back(T&& value) {
    WEFT_ASSERT(!full(), "push into a full ring");
    std::size_t end = first_ + size_;
    if (end >= capacity_) end -= capacity_;
    std::construct_at(slots_ + end, std::move(value));
    ++size_;
  }
  T& front() noexcept {
    WEFT_ASSERT(size_ > 0, "front of an empty ring");
    return slots_[first_];
  }
  const T& front() const noexcept {
    WEFT_ASSERT(size_ > 0, "front of an empty ring");
    return slots_[first_];
  }
  /// The value that `index` others are before.
  T& operator[](std::size_t index) noexcept {
    WEFT_ASSERT(index < size_, "beyond the end of a ring");
    const std::size_t place = first_ + index;
    return slots_[place < capacity_ ? place : place - capacity_];
  }
  T& back() noexcept { return (*this)[size_ - 1]; }
  void pop_back() {
    std::destroy_at(&back());
    --size_;
  }
  T pop_front() {
    WEFT_ASSERT(size_ > 0, "pop from an empty ring");
    T* slot = slots_ + first_;
    T value = std::move(*slot);
    std::destroy_at(slot);
    advance();
    --size_;
    return value;
  }

 private:
  void advance() noexcept {
    if (++first_ == capacity_) first_ = 0;
  }

  static constexpr std::size_t kFirstCapacity = 16;

  std::size_t capacity_ = 0;
  T* slots_ = nullptr;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
};

}  // namespace weft::detail
