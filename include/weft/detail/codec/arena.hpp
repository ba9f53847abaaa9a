// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::detail {

/// Memory for decoded views of bytes that are unaligned in the message; owned by the caller of decode_from().
/// Views into it are valid until clear() or the destructor. Costs one null pointer until it is needed. One
/// message uses at most about its own size. Thread: one at a time.
class DecodeArena {
 public:
  DecodeArena() noexcept = default;
  DecodeArena(DecodeArena&& other) noexcept : top_(other.top_), at_(other.at_), end_(other.end_) {
    other.forget();
  }
  DecodeArena& operator=(DecodeArena&& other) noexcept {
    if (this == &other) return *this;
    clear();
    top_ = other.top_;
    at_ = other.at_;
    end_ = other.end_;
    other.forget();
    return *this;
  }
  ~DecodeArena() {
    if (top_ != nullptr) release();
  }

  /// `size` bytes aligned to `alignment` (a power of two). When a new block is needed it holds at least
  /// `expected` bytes: what the rest of the message may still ask for.
  std::byte* allocate(std::size_t size, std::size_t alignment, std::size_t expected);

  /// Gives everything back; every view into the arena ends.
  void clear() noexcept {
    if (top_ != nullptr) release();
    forget();
  }

  bool empty() const { return top_ == nullptr; }

 private:
  struct Block {
    Block* below;
  };
  void release() noexcept;
  void forget() noexcept {
    top_ = nullptr;
    at_ = nullptr;
    end_ = nullptr;
  }

  Block* top_ = nullptr;
  std::byte* at_ = nullptr;
  std::byte* end_ = nullptr;
};

}  // namespace weft::detail
