// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace weft::detail::grpc {

/// Memory of the HTTP/2 library for one connection: counted, limited, and taken from the thread's cache of
/// small blocks. Outlives its blocks. Thread: the connection's loop.
class CountedHeap {
 public:
  /// A peer that makes this side queue or remember more than this loses its connection.
  static constexpr std::size_t kBytesMax = std::size_t{8} << 20;

  CountedHeap() = default;
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

 private:
  std::size_t used_ = 0;
};

}  // namespace weft::detail::grpc
