// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "transport/message_header.hpp"
#include "weft/base/assert.hpp"

namespace weft::ucx_carrier {

/// A message as it lies in UCX's memory, in a copy of ours, or, a piece, still with the sender. Whoever takes
/// it gives its memory back; it is a plain value.
struct Arrival {
  enum class Memory : std::uint8_t {
    kNone,    ///< no bytes, or nobody's any more
    kUcx,     ///< to be given back by ucp_am_data_release
    kCopied,  ///< to be given back by std::free
  };
  MessageKind kind{};
  Memory memory = Memory::kNone;
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  std::size_t taken = 0;
  std::uint32_t cost = 0;  ///< of credit; the peer gets it back with the last byte
};

/// Queue of the messages that have arrived and were not received yet, in order. Allocates while it grows,
/// never afterwards.
class Inbox {
 public:
  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  Arrival& front() noexcept { return slots_[first_]; }
  Arrival& operator[](std::size_t index) noexcept { return slots_[(first_ + index) & (capacity_ - 1)]; }
  /// False when memory is out.
  bool push(const Arrival& arrival) noexcept {
    if (size_ == capacity_ && !grow()) [[unlikely]] {
      return false;
    }
    slots_[(first_ + size_++) & (capacity_ - 1)] = arrival;
    return true;
  }
  void pop() noexcept {
    WEFT_ASSERT(size_ > 0, "pop from an empty inbox");
    first_ = (first_ + 1) & (capacity_ - 1);
    --size_;
  }
  void clear() noexcept { size_ = 0; }

 private:
  static_assert(std::is_trivially_copyable_v<Arrival>);
  bool grow() noexcept {
    const std::size_t capacity = capacity_ == 0 ? 16 : capacity_ * 2;
    std::unique_ptr<Arrival[]> larger{new (std::nothrow) Arrival[capacity]};
    if (larger == nullptr) return false;
    for (std::size_t i = 0; i < size_; ++i) larger[i] = (*this)[i];
    slots_ = std::move(larger);
    first_ = 0;
    capacity_ = capacity;
    return true;
  }

  std::unique_ptr<Arrival[]> slots_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;  // a power of two
};

}  // namespace weft::ucx_carrier
