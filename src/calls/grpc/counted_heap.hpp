// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::detail::grpc {

/// Memory of the HTTP/2 library for one connection: counted, limited, and taken from the thread's cache of
/// small blocks. Outlives its blocks. Thread: the connection's loop.
class CountedHeap {
 public:
  /// A peer that makes this side queue or remember more than `bytes_max` loses its connection.
  explicit CountedHeap(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  CountedHeap(const CountedHeap&) = delete;
  CountedHeap& operator=(const CountedHeap&) = delete;

  /// Returns a block of `size` bytes, aligned for any type. Null when the limit or the system's memory is
  /// exhausted.
  void* allocate(std::size_t size) noexcept;
  /// `block` is from allocate(), or null.
  void release(void* block) noexcept;
  /// Does as std::realloc().
  void* reallocate(void* block, std::size_t size) noexcept;

  std::size_t used() const noexcept { return used_; }
  /// More than half of the limit is used.
  bool is_high() const noexcept { return used_ > bytes_max_ / 2; }

 private:
  const std::size_t bytes_max_;
  std::size_t used_ = 0;
};

}  // namespace weft::detail::grpc
