// SPDX-License-Identifier: Apache-2.0
#include "weft/detail/balancing/balancing_policy.hpp"
#include "weft/detail/base/random_numbers.hpp"

namespace weft {

// FNV-1a, mixed: alone it leaves texts that differ in their last letter close together.
std::uint64_t key_hash(std::string_view text) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) {
    hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
  }
  return detail::RandomNumbers{hash}.next();
}

}  // namespace weft
