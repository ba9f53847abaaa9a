// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <utility>

#include "weft/detail/base/bytes.hpp"
#include "weft/detail/base/descriptor.hpp"
#include "weft/detail/base/result.hpp"

namespace weft::detail::shared_memory {

/// Memory of one side as this process sees it: a page of words, and a ring behind it. Unmaps it at its end.
class MappedMemory {
 public:
  MappedMemory() noexcept = default;
  MappedMemory(std::byte* begin, std::size_t ring_bytes) noexcept : begin_(begin), ring_bytes_(ring_bytes) {}
  MappedMemory(MappedMemory&& other) noexcept
      : begin_(std::exchange(other.begin_, nullptr)), ring_bytes_(std::exchange(other.ring_bytes_, 0)) {}
  MappedMemory& operator=(MappedMemory&& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(ring_bytes_, other.ring_bytes_);
    return *this;
  }
  ~MappedMemory();

  explicit operator bool() const noexcept { return begin_ != nullptr; }
  /// Beginning of the words. The memory of the other side must not be written.
  std::byte* words() const noexcept { return begin_; }
  MutableBytes ring() const noexcept;

 private:
  std::byte* begin_ = nullptr;
  std::size_t ring_bytes_ = 0;
};

/// Memory that this side writes, and the descriptor by which the other side maps it.
struct OwnMemory {
  MappedMemory memory;
  Descriptor descriptor;
};

/// Makes the memory of this side, with all of its pages, so that no access fails later. It is sealed: its
/// size never changes, its pages stay, and no other process maps it to write. Errors: kResourceExhausted with
/// errno when memory or descriptors are exhausted, or a limit of the process forbids it; kUnavailable when
/// the system lacks a seal.
Result<OwnMemory> make_own_memory(std::size_t ring_bytes);

/// Maps the memory that the other side made, to read. No access to it fails.
/// Errors: kInvalidArgument when the descriptor is not memory of that size with these seals and all of its
/// pages; kResourceExhausted when it cannot be mapped.
Result<MappedMemory> map_peer_memory(const Descriptor& descriptor, std::size_t ring_bytes);

}  // namespace weft::detail::shared_memory
