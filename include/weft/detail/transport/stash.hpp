// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "weft/detail/base/bytes.hpp"

namespace weft::detail {

/// Place for the few bytes of something that is not whole, so that waiting for the rest costs no chunk. Its
/// memory is kept once made.
class Stash {
 public:
  static constexpr std::size_t kBytesMax = 2048;

  std::size_t size() const noexcept { return size_; }
  /// Keeps a copy of `bytes`, in place of the previous content. Returns false, and keeps nothing, for more
  /// than kBytesMax and when memory is exhausted.
  bool put(Bytes bytes) noexcept;
  /// Copies the content to `to`, and drops it.
  void take(std::byte* to) noexcept;
  /// Gives the memory back.
  void release() noexcept;

 private:
  std::unique_ptr<std::byte[]> memory_;
  std::uint16_t capacity_ = 0;
  std::uint16_t size_ = 0;
};

}  // namespace weft::detail
