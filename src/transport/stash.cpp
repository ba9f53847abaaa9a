// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/transport/stash.hpp"

#include <algorithm>
#include <bit>
#include <new>
#include <utility>

namespace weft::detail {

namespace {

constexpr std::size_t kCapacityMin = 256;

}  // namespace

bool Stash::put(Bytes bytes) noexcept {
  if (bytes.size() > kBytesMax) return false;
  if (bytes.size() > capacity_) {
    const std::size_t capacity = std::bit_ceil(std::max(bytes.size(), kCapacityMin));
    memory_.reset(new (std::nothrow) std::byte[capacity]);
    capacity_ = memory_ ? static_cast<std::uint16_t>(capacity) : std::uint16_t{0};
    if (!memory_) return false;
  }
  std::copy(bytes.begin(), bytes.end(), memory_.get());
  size_ = static_cast<std::uint16_t>(bytes.size());
  return true;
}

void Stash::take(std::byte* to) noexcept {
  std::copy_n(memory_.get(), std::exchange(size_, std::uint16_t{0}), to);
}

void Stash::release() noexcept {
  memory_.reset();
  capacity_ = size_ = 0;
}

}  // namespace weft::detail
