// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "support/pattern.hpp"
#include "weft/detail/memory/buffer.hpp"

namespace weft::testing {

/// Makes a pattern of `bytes`, which counts in `live` until nobody has it any more. What is freed is made
/// useless first.
inline Buffer counted_pattern(std::size_t bytes, std::atomic<int>& live) {
  struct Owner {
    std::vector<std::byte> memory;
    std::atomic<int>* live;
  };
  auto* const owner = new Owner{pattern(bytes), &live};
  ++live;
  return Buffer::adopt(owner->memory, owner, [](void* each) noexcept {
    const std::unique_ptr<Owner> ended{static_cast<Owner*>(each)};
    std::ranges::fill(ended->memory, std::byte{0xDD});
    --*ended->live;
  });
}

}  // namespace weft::testing
