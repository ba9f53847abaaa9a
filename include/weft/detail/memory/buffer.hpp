// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/lifetime_bound.hpp"
#include "weft/detail/base/result.hpp"
#include "weft/detail/memory/budget.hpp"

namespace weft {

/// Sole ownership of bytes at a fixed address, of any origin: attachments travel in Buffers. Moving a Buffer
/// does not move its bytes. May be destroyed on any thread, if its origin allows that.
class Buffer {
 public:
  /// `size` bytes, not zeroed. They are reserved in `budget` first and released by the destructor; the budget
  /// must outlive the buffer. Errors: kResourceExhausted when the budget or the memory is exhausted.
  static Result<Buffer> try_allocate(std::size_t size, detail::MemoryBudget* budget = nullptr);
  /// The same from a budget that the buffer keeps alive.
  static Result<Buffer> try_allocate(std::size_t size, std::shared_ptr<detail::MemoryBudget> budget);
  /// `buffer`, counted in `budget` until its end; as it is without one. Errors: kResourceExhausted when the
  /// budget is out; the buffer is gone then.
  static Result<Buffer> counted(Buffer buffer, std::shared_ptr<detail::MemoryBudget> budget);
  /// `buffer`, whose size was reserved in `budget` already, which is released at its end. Errors:
  /// kResourceExhausted when memory is exhausted; the buffer and the reservation are gone then.
  static Result<Buffer> charged(Buffer buffer, std::shared_ptr<detail::MemoryBudget> budget);
  /// `size` bytes, not zeroed, that are already reserved in `budget`; the reservation is released with them.
  /// They form one block, from the thread's cache unless it is long. Throws std::bad_alloc without memory;
  /// the reservation stays then.
  static Buffer short_block(std::size_t size, std::shared_ptr<detail::MemoryBudget> budget);
  /// Its own copy of `bytes`. Throws std::bad_alloc when memory is exhausted.
  static Buffer copy_of(Bytes bytes);
  /// Takes what `bytes` or `text` holds, without a copy (of a text too short to have an allocation, one).
  static Buffer adopt(std::vector<std::byte> bytes);
  static Buffer adopt(std::string text);
  /// Takes `memory` over from anywhere; `release(owner)` is called once, when the buffer ends, on the thread
  /// where it does.
  static Buffer adopt(MutableBytes memory, void* owner, void (*release)(void* owner) noexcept);

  Buffer() noexcept = default;
  Buffer(Buffer&& other) noexcept { take(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    Buffer taken{std::move(other)};  // it may be in what this owns
    if (has_owner()) release();
    take(taken);
    return *this;
  }
  ~Buffer() {
    if (has_owner()) release();
  }

  /// Ends the charge to the budget: for memory that is kept permanently, such as an entry of a store, which
  /// would otherwise reduce the memory for calls as long as it is kept.
  void leave_budget() noexcept;

  // The bytes last as long as the buffer, or the one that took them over.
  std::byte* data() noexcept WEFT_LIFETIME_BOUND { return memory_.data(); }
  const std::byte* data() const noexcept WEFT_LIFETIME_BOUND { return memory_.data(); }
  std::size_t size() const noexcept { return memory_.size(); }
  bool empty() const noexcept { return memory_.empty(); }
  Bytes bytes() const noexcept WEFT_LIFETIME_BOUND { return memory_; }
  MutableBytes mutable_bytes() noexcept WEFT_LIFETIME_BOUND { return memory_; }

 private:
  bool has_owner() const noexcept { return release_ != nullptr || budget_ != nullptr; }
  // Memory that this had is released before.
  void take(Buffer& other) noexcept {
    memory_ = std::exchange(other.memory_, {});
    owner_ = other.owner_;
    release_ = std::exchange(other.release_, nullptr);
    budget_ = std::exchange(other.budget_, nullptr);
  }
  void release() noexcept;

  MutableBytes memory_;
  void* owner_ = nullptr;
  void (*release_)(void* owner) noexcept = nullptr;
  detail::MemoryBudget* budget_ = nullptr;
};

}  // namespace weft
