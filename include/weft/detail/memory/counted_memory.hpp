// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "weft/detail/base/assert.hpp"
#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// The owner of some bytes that a library or a device below may be given: counts the handles that look at
/// them, and is released when the last one goes. `Registration` is what the binding that uses the bytes
/// calls their registration; null for bytes without one. Thread: one loop's; the count is a plain number.
template <typename Registration>
class CountedBlock {
 public:
  /// `release` is called when the last handle has gone, never inside a callback from below. It may destroy
  /// the block.
  using Release = void (*)(CountedBlock& block) noexcept;
  explicit CountedBlock(Release release, Registration registration = nullptr) noexcept
      : release_(release), registration_(registration) {}
  CountedBlock(const CountedBlock&) = delete;
  CountedBlock& operator=(const CountedBlock&) = delete;

  std::uint32_t references() const noexcept { return references_; }
  Registration registration() const noexcept { return registration_; }
  void retain() noexcept { ++references_; }
  void let_go() noexcept {
    if (--references_ == 0) release_(*this);
  }

 protected:
  ~CountedBlock() = default;

 private:
  std::uint32_t references_ = 0;
  Release release_;
  Registration registration_;
};

/// The handle to such bytes for the operations of a binding; `Self` is the binding's own handle type. A copy
/// shares the bytes. Empty when default-constructed. Thread: one loop's.
template <typename Self, typename Registration>
class CountedMemory {
 public:
  using Block = CountedBlock<Registration>;

  /// The `size` bytes from `offset` on, which must lie within.
  Self slice(std::size_t offset, std::size_t size) const noexcept {
    WEFT_ASSERT(offset <= size_ && size <= size_ - offset, "a slice lies within its memory");
    return Self{data_ + offset, size, block_};
  }
  Self first(std::size_t size) const noexcept { return slice(0, size); }

  std::byte* data() const noexcept { return data_; }
  std::size_t size() const noexcept { return size_; }
  bool empty() const noexcept { return size_ == 0; }
  Bytes bytes() const noexcept { return {data_, size_}; }
  MutableBytes mutable_bytes() const noexcept { return {data_, size_}; }
  /// False for borrowed bytes, whose memory belongs to another object.
  bool owned() const noexcept { return block_ != nullptr || size_ == 0; }
  Block* block() const noexcept { return block_; }
  void reset() noexcept { const CountedMemory gone{std::move(*this)}; }

 protected:
  CountedMemory() noexcept = default;
  CountedMemory(std::byte* data, std::size_t size, Block* block) noexcept
      : data_(data), size_(size), block_(block) {
    if (block_ != nullptr) block_->retain();
  }
  CountedMemory(const CountedMemory& other) noexcept
      : CountedMemory(other.data_, other.size_, other.block_) {}
  CountedMemory(CountedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        block_(std::exchange(other.block_, nullptr)) {}
  CountedMemory& operator=(const CountedMemory& other) noexcept {
    if (this == &other) return *this;
    CountedMemory copy{other};
    swap(copy);
    return *this;
  }
  CountedMemory& operator=(CountedMemory&& other) noexcept {
    CountedMemory taken{std::move(other)};
    swap(taken);
    return *this;
  }
  ~CountedMemory() {
    if (block_ != nullptr) block_->let_go();
  }

 private:
  void swap(CountedMemory& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(block_, other.block_);
  }

  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  Block* block_ = nullptr;
};

}  // namespace weft::detail
