// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/picked_of.hpp"

#include <array>
#include <cstdio>

#include "weft/detail/base/assert.hpp"

namespace weft::detail {

void picked_nobody(std::uint32_t picked, std::size_t size) noexcept {
  std::array<char, 120> words{};
  std::snprintf(words.data(), words.size(),
                "BalancingPolicy::pick() returned %lu, and the list has %zu server%s",
                static_cast<unsigned long>(picked), size, size == 1 ? "" : "s");
  assertion_failed(words.data(), __FILE__, __LINE__);
}

}  // namespace weft::detail
